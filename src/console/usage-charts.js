/** What both consoles draw of usage: charts over time, and what was rejected by error code. */

import { createChart } from './chart.js';
import { element } from './dom.js';
import { formatCachedShare, formatCount, formatCredits, formatMs, formatShare, formatShort } from './format.js';
import { sharesOf, sumByBackend } from './usage-sums.js';

/** @import { Chart, ChartKind, Series } from './chart.js' */
/** @import { InputOfBackend, Rejection } from '../contract/record-types.ts' */
/** @import { BackendSum, Part, Span } from './usage-sums.js' */

/** @type {ChartKind} */
export const REQUESTS_CHART = {
  title: 'Requests',
  shape: 'bars',
  format: formatCount,
  formatAxis: formatShort,
  isCount: true,
  series: [{ label: 'Requests', valueOf: ({ requests }) => requests }],
};
/** @type {ChartKind} */
export const COST_CHART = {
  title: 'Cost',
  shape: 'bars',
  format: formatCredits,
  formatAxis: formatCredits,
  series: [{ label: 'Cost', valueOf: ({ cost }) => cost }],
};
/** @type {ChartKind} */
export const CACHE_CHART = {
  title: 'Cached share of the input',
  shape: 'lines',
  format: formatShare,
  formatAxis: formatShare,
  series: [
    {
      label: 'Cached',
      valueOf: ({ cached_tokens, input_tokens }) => (input_tokens === 0 ? null : cached_tokens / input_tokens),
    },
  ],
};
/** @type {ChartKind} */
const BACKENDS_CHART = { ...CACHE_CHART, title: 'Cached share of the input by backend', series: [] };
/** More lines would be hard to read. */
const MOST_BACKENDS = 5;
/** @type {readonly ChartKind[]} */
export const STATS_CHARTS = [
  timesOf('Time to first token', ({ first_token }) => first_token),
  timesOf('Duration of answered requests', ({ duration }) => duration),
  {
    title: 'Rejected requests',
    shape: 'bars',
    format: formatCount,
    formatAxis: formatShort,
    isCount: true,
    series: [{ label: 'Rejected', valueOf: ({ rejected }) => rejected }],
  },
  BACKENDS_CHART,
];

/** @type {(title: string, of: (part: Part) => Part['duration']) => ChartKind} */
function timesOf(title, of) {
  return {
    title,
    shape: 'lines',
    format: formatMs,
    formatAxis: formatMs,
    series: [
      { label: 'p50', valueOf: (part) => of(part)?.p50_ms ?? null },
      { label: 'p95', valueOf: (part) => of(part)?.p95_ms ?? null },
    ],
  };
}

/** @typedef {Readonly<Record<string, readonly Series[]>>} SeriesOf */

/**
 * Draws the charts that have a value, the codes of what was rejected, and what the prefix caches of backends served.
 * @param {HTMLElement} place
 * @param {readonly ChartKind[]} kinds
 * @returns {(usage: {
 *   parts: readonly Part[],
 *   rejected?: readonly Rejection[],
 *   backends?: readonly InputOfBackend[],
 *   per: Span['per'],
 *   series?: SeriesOf,
 * }) => boolean} whether there is any; `series` replaces those of a chart, by its title.
 */
export function createCharts(place, kinds) {
  /** @type {readonly (readonly [ChartKind, Chart])[]} */
  const charts = kinds.map((kind) => [kind, createChart(kind)]);
  const byCode = createTableFigure({
    title: 'Rejected by error code',
    heads: ['Code', 'Requests'],
    about: 'They never reached the backend, and have no record.',
  });
  const byBackend = createTableFigure({
    title: 'Prefix caches of the backends',
    heads: ['Backend', 'Input tokens', 'Cached', 'Reachable', 'Moved turns', 'Saved'],
    about:
      'A backend had read the reachable tokens in the turn before. A moved turn was answered by another backend than that.',
  });

  return ({ parts, rejected = [], backends = [], per, series = {} }) => {
    const sums = sumByBackend(backends);
    /** @type {SeriesOf} */
    const all = { ...series, [BACKENDS_CHART.title]: sharesOf(sums.slice(0, MOST_BACKENDS)) };
    const seriesOf = (/** @type {ChartKind} */ kind) => all[kind.title] ?? kind.series;
    // A chart without a value would be an empty axis.
    const shown = charts.filter(([kind]) =>
      parts.some((part) => seriesOf(kind).some(({ valueOf }) => (valueOf(part) ?? 0) > 0)),
    );
    const figures = shown.map(([, chart]) => chart.figure);
    if (sums.length > 0) figures.push(byBackend.figure);
    if (rejected.length > 0) figures.push(byCode.figure);
    // Only a change moves them, which would take the focus away.
    if (figures.length !== place.childElementCount || figures.some((figure, at) => figure !== place.children[at])) {
      place.replaceChildren(...figures);
    }
    for (const [kind, chart] of shown) chart.show(parts, per, seriesOf(kind));
    byCode.rows.replaceChildren(...rowsOf(rejected));
    byBackend.rows.replaceChildren(...sums.map(rowOfBackend));
    return figures.length > 0;
  };
}

/** @param {{ title: string, heads: readonly string[], about: string }} options */
function createTableFigure({ title, heads, about }) {
  const rows = element('tbody');
  const figure = element(
    'figure',
    { class: 'chart card' },
    element('figcaption', {}, title),
    element(
      'div',
      { class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': `${title}, table` },
      element('table', { 'aria-label': title }, element('thead', {}, headOf(...heads)), rows),
    ),
    element('p', { class: 'muted small' }, about),
  );
  return { figure, rows };
}

/** @param {BackendSum} sum */
function rowOfBackend({ name, reachable_tokens, moved_turns, saved, ...sum }) {
  const numbers = [
    formatShort(sum.input_tokens),
    formatCachedShare(sum),
    formatCachedShare({ ...sum, cached_tokens: reachable_tokens }),
    formatCount(moved_turns),
    saved === 0 ? '–' : formatCredits(saved),
  ];
  return element('tr', {}, element('td', {}, name), ...numbers.map((text) => element('td', { class: 'number' }, text)));
}

/** @param {readonly Rejection[]} rejected */
function rowsOf(rejected) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { code, count } of rejected) sums.set(code, (sums.get(code) ?? 0) + count);
  const sorted = [...sums].sort(([, one], [, other]) => other - one);
  const most = String(sorted[0]?.[1] ?? 0);
  return sorted.map(([code, count]) =>
    element(
      'tr',
      {},
      element('td', {}, element('code', {}, code)),
      element(
        'td',
        { class: 'number' },
        element(
          'div',
          { class: 'limit' },
          formatCount(count),
          element('meter', { max: most, value: String(count), 'aria-label': `share of ${code}` }),
        ),
      ),
    ),
  );
}

/** @param {readonly string[]} titles */
function headOf(...titles) {
  return element(
    'tr',
    {},
    ...titles.map((title, at) => element('th', { scope: 'col', ...(at > 0 && { class: 'number' }) }, title)),
  );
}
