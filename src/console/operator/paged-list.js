import { element } from '../dom.js';
import { createAddress, toHref } from '../route.js';
import { createFilters } from './filters.js';
import { showLive } from './live.js';
import { createTable } from './table.js';

/** @import { Field } from './form.js' */
/** @import { Page } from './main.js' */
/** @import { Column } from './table.js' */

const PER_PAGE = '25';

/**
 * Shows a list of which the gateway sends one page at a time. The address has the filters and the
 * place, so that it can be kept.
 * @template Row
 * @param {Page} page
 * @param {object} options
 * @param {string} options.path
 * @param {Readonly<Record<string, string>>} [options.usual] Parameters that a filter of the same name replaces.
 * @param {readonly Field[]} [options.filters]
 * @param {(name: string, value: string) => string} [options.toAddress] A filter as the address and the gateway have it.
 * @param {(name: string, value: string) => string} [options.fromAddress]
 * @param {'after' | 'before'} [options.cursor] The parameter with the last id of the page before.
 * @param {(row: Row) => string} options.idOf
 * @param {string} options.label
 * @param {string} options.none
 * @param {string} [options.noneFits] What is said when no row fits the filters.
 * @param {readonly Column<Row>[]} options.columns
 * @param {(row: Row) => string} [options.hrefOf]
 * @param {number} options.everyMs
 */
export function showPagedList(page, options) {
  const { path, usual = {}, filters = [], cursor = 'after', idOf } = options;
  const { toAddress = keep, fromAddress = keep } = options;
  const { none, noneFits = none, everyMs } = options;
  const { view, id } = page.route;
  const names = new Set([cursor, ...filters.map(({ name }) => name)]);
  let given = new URLSearchParams([...page.route.query].filter(([name]) => names.has(name)));
  const setAddress = createAddress();
  const { form, read } = createFilters(page, {
    fields: filters,
    values: Object.fromEntries([...given].map(([name, value]) => [name, fromAddress(name, value)])),
    onChange: applyFilters,
  });
  const table = createTable(options);
  const newest = element('a', { class: 'button' }, 'Newest');
  const older = element('a', { class: 'button' }, 'Older');
  const pages = element('nav', { class: 'actions', 'aria-label': 'Pages' }, newest, older);
  pages.hidden = true;

  function applyFilters() {
    const kept = Object.entries(read())
      .map(([name, value]) => [name, toAddress(name, value)])
      .filter(([, value]) => value !== '');
    given = new URLSearchParams(kept);
    if (!setAddress(toHref(view, id, given))) return;
    page.setStatus('Loading …');
    polling.now();
  }

  if (filters.length > 0) page.content.append(form);
  page.content.append(table.place, pages);
  const polling = showLive(page, {
    async ask(signal) {
      const query = new URLSearchParams({ limit: PER_PAGE, ...usual, ...Object.fromEntries(given) });
      const answer = await page.client.get(`${path}?${query}`, { signal });
      return /** @type {{ data: readonly Row[], has_more: boolean, last_id?: string | null }} */ (answer);
    },
    show({ data, has_more, last_id }) {
      const last = data.at(-1);
      const place = last_id ?? (last === undefined ? null : idOf(last));
      const filtered = new URLSearchParams([...given].filter(([name]) => name !== cursor));
      newest.href = toHref(view, id, filtered);
      newest.hidden = !given.has(cursor);
      older.hidden = !has_more || place === null;
      older.href = toHref(view, id, new URLSearchParams([...filtered, [cursor, place ?? '']]));
      pages.hidden = newest.hidden && older.hidden;
      table.show(data, filtered.size > 0 ? noneFits : none);
    },
    describe: () => (given.has(cursor) ? 'Older' : 'Live'),
    onRefused: () => table.show([], 'No results.'),
    everyMs,
  });
  return { now: polling.now };
}

/** @param {string} _name @param {string} value */
function keep(_name, value) {
  return value;
}
