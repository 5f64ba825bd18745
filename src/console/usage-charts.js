/** What both consoles draw of usage: charts over time, and what was rejected by error code. */

import { createChart } from './chart.js';
import { element } from './dom.js';
import { formatCount, formatCredits, formatMs, formatShare, formatShort } from './format.js';

/** @import { Chart, ChartKind, Series } from './chart.js' */
/** @import { Rejection } from '../contract/types.ts' */
/** @import { Part, Span } from './usage-sums.js' */

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
 * Draws the charts that have a value, and the codes of what was rejected.
 * @param {HTMLElement} place
 * @param {readonly ChartKind[]} kinds
 * @returns {(usage: { parts: readonly Part[], rejected?: readonly Rejection[], per: Span['per'], series?: SeriesOf }) => boolean}
 *   whether there is any; `series` replaces those of a chart, by its title.
 */
export function createCharts(place, kinds) {
  /** @type {readonly (readonly [ChartKind, Chart])[]} */
  const charts = kinds.map((kind) => [kind, createChart(kind)]);
  const codes = element('tbody');
  const byCode = element(
    'figure',
    { class: 'chart card' },
    element('figcaption', {}, 'Rejected by error code'),
    element(
      'table',
      { 'aria-label': 'Rejected by error code' },
      element('thead', {}, headOf('Code', 'Requests')),
      codes,
    ),
    element('p', { class: 'muted small' }, 'They never reached the backend, and have no record.'),
  );

  return ({ parts, rejected = [], per, series = {} }) => {
    const seriesOf = (/** @type {ChartKind} */ kind) => series[kind.title] ?? kind.series;
    // A chart without a value would be an empty axis.
    const shown = charts.filter(([kind]) =>
      parts.some((part) => seriesOf(kind).some(({ valueOf }) => (valueOf(part) ?? 0) > 0)),
    );
    const figures = shown.map(([, chart]) => chart.figure);
    if (rejected.length > 0) figures.push(byCode);
    // Only a change moves them, which would take the focus away.
    if (figures.length !== place.childElementCount || figures.some((figure, at) => figure !== place.children[at])) {
      place.replaceChildren(...figures);
    }
    for (const [kind, chart] of shown) chart.show(parts, per, seriesOf(kind));
    codes.replaceChildren(...rowsOf(rejected));
    return figures.length > 0;
  };
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
