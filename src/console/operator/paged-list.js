import { element } from '../dom.js';
import { createAddress, toHref } from '../route.js';
import { createField } from './form.js';
import { showLive } from './live.js';
import { createTable } from './table.js';

/** @import { Field } from './form.js' */
/** @import { Page } from './main.js' */
/** @import { Column } from './table.js' */

const PER_PAGE = '25';
const TYPING_MS = 300;

/**
 * Shows a list of which the gateway sends one page at a time. The address has the filters and the
 * place, so that it can be kept.
 *
 * @template Row
 * @param {Page} page
 * @param {object} options
 * @param {string} options.path
 * @param {Readonly<Record<string, string>>} [options.fixed] Parameters that are always the same.
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
 * @param {(rows: readonly Row[]) => void} [options.onRows]
 */
export function showPagedList(page, options) {
  const { path, fixed = {}, filters = [], cursor = 'after', idOf, onRows } = options;
  const { toAddress = keep, fromAddress = keep } = options;
  const { none, noneFits = none, everyMs } = options;
  const { view, id } = page.route;
  const names = new Set([cursor, ...filters.map(({ name }) => name)]);
  let given = new URLSearchParams([...page.route.query].filter(([name]) => names.has(name)));
  let typing = 0;
  const setAddress = createAddress();

  const fields = filters.map((filter) => ({ filter, ...createField(filter, valueOf(filter.name)) }));
  const form = element(
    'form',
    { class: 'filters', autocomplete: 'off', 'aria-label': 'Filters' },
    ...fields.map(({ place }) => place),
  );
  const table = createTable(options);
  const newest = element('a', { class: 'button' }, 'Newest');
  const older = element('a', { class: 'button' }, 'Older');
  const pages = element('nav', { class: 'actions', 'aria-label': 'Pages' }, newest, older);
  pages.hidden = true;

  function applyFilters() {
    const kept = fields
      .map(({ filter, input }) => [filter.name, toAddress(filter.name, input.value.trim())])
      .filter(([, value]) => value !== '');
    given = new URLSearchParams(kept);
    if (!setAddress(toHref(view, id, given))) return;
    page.setStatus('Loading …');
    polling.now();
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    applyFilters();
  });
  for (const { filter, input } of fields) {
    // A part of a name finds something, while a part of an id would be a mistake.
    if (filter.name !== 'search') input.addEventListener('change', applyFilters);
    else {
      input.addEventListener('input', () => {
        clearTimeout(typing);
        typing = setTimeout(applyFilters, TYPING_MS);
      });
    }
  }
  page.signal.addEventListener('abort', () => clearTimeout(typing));

  if (filters.length > 0) page.content.append(form);
  page.content.append(table.place, pages);
  const polling = showLive(page, {
    async ask(signal) {
      const query = new URLSearchParams([['limit', PER_PAGE], ...Object.entries(fixed), ...given]);
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
      onRows?.(data);
    },
    describe: () => (given.has(cursor) ? 'Older' : 'Live'),
    everyMs,
  });
  return { now: polling.now, form };

  /** @param {string} name */
  function valueOf(name) {
    const value = given.get(name);
    return value === null ? '' : fromAddress(name, value);
  }
}

/**
 * @param {string} _name
 * @param {string} value
 */
function keep(_name, value) {
  return value;
}
