import { formatTime, nameOfTime } from '../chart.js';
import { element, showFacts } from '../dom.js';
import { formatCachedShare, formatCount, formatCredits, formatMs, formatShort } from '../format.js';
import { createAddress, toHref } from '../route.js';
import { CACHE_CHART, COST_CHART, createCharts, REQUESTS_CHART, STATS_CHARTS } from '../usage-charts.js';
import { sharesOf, spanOf, stackOf, sumByTime, withStats } from '../usage-sums.js';
import { accountFilters, createFilters } from './filters.js';
import { showLive } from './live.js';
import { nameLink, nameOf } from './names.js';
import { createTable } from './table.js';

/** @import { UsageTotal, UsageTotalList } from '../../contract/operator-types.ts' */
/** @import { Field } from './form.js' */
/** @import { Page } from './main.js' */
/** @import { Per } from '../usage-sums.js' */

const EVERY_MS = 30_000;

/** @param {Page} page */
export function showUsage(page) {
  const { route, content, isManaged } = page;
  /** @type {Readonly<Record<string, string>>} */
  const given = { span: 'week', by: 'model', ...Object.fromEntries(route.query) };
  const { form, read } = createFilters(page, { fields: fieldsOf(page), values: given, onChange: apply });
  const tiles = element('dl', { class: 'tiles' });
  const about = element('p', { class: 'muted small' });
  const [curves, charts] = [element('div', { class: 'charts' }), element('div', { class: 'charts' })];
  const setAddress = createAddress();
  const keyTitle = isManaged ? 'Key' : 'Caller';
  /** @type {{ by: UsageTotalList['by'], per: Per, mostCost: number }} */
  let shown = { by: 'model', per: 'day', mostCost: 0 };
  const { place, show } = createTable({
    label: 'Usage',
    columns: [
      { title: titleOf, kind: 'name', cell: (/** @type {UsageTotal} */ { name }) => linkOf(name) },
      { title: 'Cost', kind: 'number', cell: costOf },
      { title: 'Requests', kind: 'number', cell: ({ requests }) => formatCount(requests) },
      { title: 'Failed', kind: 'number', wide: true, cell: failedOf },
      { title: 'Cancelled', kind: 'number', wide: true, cell: ({ cancelled }) => formatCount(cancelled) },
      { title: 'Input tokens', kind: 'number', wide: true, cell: ({ input_tokens }) => formatShort(input_tokens) },
      { title: 'Cached', kind: 'number', wide: 'very', cell: formatCachedShare },
      { title: 'Output tokens', kind: 'number', wide: true, cell: ({ output_tokens }) => formatShort(output_tokens) },
      { title: 'Mean time', kind: 'number', wide: true, cell: meanOf },
    ],
  });

  function titleOf() {
    return shown.by === 'time' ? nameOfTime(shown.per) : { key: keyTitle, group: 'Group', model: 'Model' }[shown.by];
  }

  /** @param {string} name */
  function linkOf(name) {
    if (shown.by === 'time') return formatTime(Date.parse(name) / 1000, shown.per);
    if (shown.by === 'model') return element('a', { href: toHref('requests', null, { model: name }) }, name);
    return nameLink(page, shown.by === 'key' ? 'keys' : 'groups', name);
  }

  /** @param {UsageTotal} total */
  function costOf({ name, cost }) {
    const text = formatCredits(cost);
    if (shown.mostCost === 0) return text;
    const share = element('meter', {
      max: String(shown.mostCost),
      value: String(cost),
      'aria-label': `share of ${name}`,
    });
    return element('div', { class: 'limit' }, text, share);
  }

  /** @param {AbortSignal} signal */
  async function ask(signal) {
    const { span: name = '', ...filters } = read();
    const span = spanOf(name, Date.now());
    const { per, from, until } = span;
    const query = new URLSearchParams({ from: String(from), until: String(until), per });
    for (const [filter, value] of Object.entries(filters)) if (value !== '') query.set(filter, value);
    const list = /** @type {UsageTotalList} */ (await page.client.get(`usage/totals?${query}`, { signal }));
    return { span, list, labels: new Map(await Promise.all(list.curves.map(({ name }) => labelOf(list.by, name)))) };
  }

  /** @type {(by: UsageTotalList['by'], name: string | null) => Promise<[string | null, string]>} */
  async function labelOf(by, name) {
    const isAccount = name !== null && (by === 'key' || by === 'group');
    return [name, isAccount ? await nameOf(page, `${by}s`, name) : (name ?? '')];
  }

  function apply() {
    if (!setAddress(toHref('usage', null, read()))) return;
    page.setStatus('Loading …');
    polling.now();
  }

  content.append(form, tiles, curves, place, about, charts);
  const drawCurves = createCharts(curves, [COST_CHART, REQUESTS_CHART, CACHE_CHART]);
  const drawStats = createCharts(charts, STATS_CHARTS);
  const polling = showLive(page, {
    ask,
    show({ span, list, labels }) {
      const { by, total, data, rejected, backends, has_more } = list;
      const { per } = span;
      shown = { by, per, mostCost: Math.max(...data.map(({ cost }) => cost), 0) };
      showTotal(tiles, total);
      const parts = withStats(sumByTime([], span), list, null);
      drawCurves({
        parts,
        per,
        series: {
          Cost: stackOf(list.curves, 'cost', labels.set(null, 'Cost')),
          Requests: stackOf(list.curves, 'requests', labels.set(null, 'Requests')),
          [CACHE_CHART.title]: sharesOf(list.curves, labels.set(null, 'All')),
        },
      });
      show(data, 'No requests ended in this period.');
      const order = by === 'time' ? 'Latest first' : 'Sorted by cost';
      about.textContent = `${order}${has_more ? `; only the first ${data.length} are shown` : ''}. Times are UTC.`;
      drawStats({ parts, rejected, backends, per });
    },
    onRefused() {
      for (const part of [tiles, curves, charts]) part.replaceChildren();
      show([], 'No results.');
      about.textContent = '';
    },
    everyMs: EVERY_MS,
  });
}

/** @type {(page: Page) => readonly Field[]} */
function fieldsOf(page) {
  const { isManaged } = page;
  return [
    {
      name: 'span',
      label: 'Time',
      kind: 'choice',
      options: [
        ['day', 'last 24 hours'],
        ['week', 'last 7 days'],
        ['month', 'last 30 days'],
        ['year', 'last 12 months'],
      ],
    },
    {
      name: 'by',
      label: 'By',
      kind: 'choice',
      options: [
        ['model', 'model'],
        ...(isManaged ? [/** @type {const} */ (['group', 'group'])] : []),
        ['key', isManaged ? 'key' : 'caller'],
        ['time', 'time'],
      ],
    },
    ...(isManaged ? accountFilters(page) : []),
  ];
}

/** @type {(tiles: HTMLElement, total: UsageTotal) => void} */
function showTotal(tiles, total) {
  showFacts(tiles, [
    ['Cost', total.cost === 0 ? null : formatCredits(total.cost)],
    ['Requests', formatCount(total.requests)],
    ['Failed', failedOf(total)],
    ['Input tokens', formatShort(total.input_tokens)],
    ['Cached', formatCachedShare(total)],
    ['Saved by the cache', total.saved === 0 ? null : formatCredits(total.saved)],
    ['Output tokens', formatShort(total.output_tokens)],
    ['Mean time', meanOf(total)],
  ]);
}

/** @param {UsageTotal} total */
function failedOf({ failed, requests }) {
  return formatCount(failed) + (failed === 0 ? '' : ` (${((100 * failed) / requests).toFixed(1)}%)`);
}

/** @param {UsageTotal} total */
function meanOf({ duration_ms, requests }) {
  return requests === 0 ? '–' : formatMs(duration_ms / requests);
}
