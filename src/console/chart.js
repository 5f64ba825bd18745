import { element, offsetAt } from './dom.js';
import uPlot from './vendor/uplot.js';

/** @import { Part, Per } from './usage-sums.js' */

/**
 * @typedef {object} Series
 * @property {string} label
 * @property {(part: Part) => number | null} valueOf
 *
 * @typedef {object} ChartKind
 * @property {string} title
 * @property {'bars' | 'lines'} shape
 * @property {(value: number) => string} format
 * @property {(value: number) => string} formatAxis
 * @property {boolean} [isCount] Has no line between two whole numbers.
 * @property {readonly Series[]} series One or two.
 *
 * @typedef {object} Chart
 * @property {HTMLElement} figure
 * @property {(parts: readonly Part[], per: Per) => void} show The figure must be in the page.
 */

const HEIGHT = 200;
const WHOLE_STEPS = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
/** A month and a day are those of UTC, in which the gateway counts. An hour is one anywhere. */
const UTC = 'UTC';
/** @type {Readonly<Record<Per, { readonly name: string, readonly format: Intl.DateTimeFormat }>>} */
const TIMES = {
  hour: {
    name: 'Time',
    format: new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }),
  },
  day: { name: 'Day', format: new Intl.DateTimeFormat('en-GB', { timeZone: UTC, day: 'numeric', month: 'short' }) },
  month: {
    name: 'Month',
    format: new Intl.DateTimeFormat('en-GB', { timeZone: UTC, month: 'short', year: 'numeric' }),
  },
};
const HOUR = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

/**
 * @param {Per} per
 * @returns {string} `Time (UTC+01:00)` or `Day (UTC)`
 */
export function nameOfTime(per) {
  return `${TIMES[per].name} (${per === 'hour' ? offsetAt(new Date()) : UTC})`;
}

/**
 * @param {ChartKind} kind
 * @returns {Chart}
 */
export function createChart(kind) {
  const plot = element('div', { class: 'plot', 'aria-hidden': 'true' });
  const reading = element('p', { class: 'reading muted small', 'aria-hidden': 'true' });
  const table = element('div', {
    class: 'table-scroll',
    tabindex: '0',
    role: 'region',
    'aria-label': `${kind.title}, table`,
  });
  const legend = element('span', { class: 'legend', 'aria-hidden': 'true' }, ...kind.series.map(legendEntry));
  const figure = element(
    'figure',
    { class: 'chart card' },
    element('figcaption', {}, kind.title, ...(kind.series.length > 1 ? [legend] : [])),
    plot,
    reading,
    element(
      'details',
      {},
      element('summary', {}, 'As a table', element('span', { class: 'hidden-text' }, `: ${kind.title}`)),
      table,
    ),
  );
  /** @type {uPlot | null} */
  let drawn = null;
  /** @type {readonly Part[]} */
  let parts = [];
  /** @type {Per} */
  let per = 'day';

  function draw() {
    drawn?.destroy();
    drawn = null;
    const width = plot.clientWidth;
    // A hidden chart is drawn when it is shown.
    if (width === 0) return;
    drawn = new uPlot(optionsOf({ kind, per, width, onPoint: readOut }), dataOf(kind, parts), plot);
  }

  /** @param {number | null | undefined} index */
  function readOut(index) {
    // Without a pointer it is the latest.
    const part = parts[index ?? parts.length - 1];
    const values = kind.series.map(({ label, valueOf }) => `${label} ${formatted(kind, part && valueOf(part))}`);
    reading.textContent =
      part === undefined ? '' : `${TIMES[per].format.format(part.start * 1000)}: ${values.join(', ')}`;
  }

  new ResizeObserver(() => {
    if (drawn !== null && plot.clientWidth > 0 && drawn.width !== plot.clientWidth) draw();
  }).observe(plot);
  // The canvas holds drawn colours, which do not follow the theme.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawn && draw());

  return {
    figure,
    show(nextParts, nextPer) {
      parts = nextParts;
      per = nextPer;
      table.replaceChildren(tableOf(kind, parts, per));
      readOut(parts.length - 1);
      draw();
    },
  };
}

/**
 * @param {ChartKind} kind
 * @param {number | null | undefined} value
 */
function formatted(kind, value) {
  return value === null || value === undefined ? '–' : kind.format(value);
}

/**
 * @param {Series} series
 * @param {number} index
 */
function legendEntry({ label }, index) {
  const entry = element('span', {}, label);
  entry.style.setProperty('--series', `var(${COLOURS[index]})`);
  return entry;
}

const COLOURS = ['--series-1', '--series-2'];

/**
 * @param {ChartKind} kind
 * @param {readonly Part[]} parts
 * @returns {uPlot.AlignedData}
 */
function dataOf({ series, shape }, parts) {
  // A bar of no height would be a line.
  const toValue = (/** @type {number | null} */ value) => (shape === 'bars' && value === 0 ? null : value);
  return [parts.map(({ start }) => start), ...series.map(({ valueOf }) => parts.map((part) => toValue(valueOf(part))))];
}

/**
 * @param {object} options
 * @param {ChartKind} options.kind
 * @param {Per} options.per
 * @param {number} options.width
 * @param {(index: number | null | undefined) => void} options.onPoint
 * @returns {uPlot.Options}
 */
function optionsOf({ kind, per, width, onPoint }) {
  const style = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ name) => resolveColour(style.getPropertyValue(name));
  const axis = {
    stroke: colour('--muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1, size: 4 },
    font: `12px ${style.fontFamily}`,
  };
  const paths = kind.shape === 'bars' ? uPlot.paths.bars?.({ size: [0.7, 40] }) : undefined;
  return {
    width,
    height: HEIGHT,
    tzDate: (seconds) =>
      per === 'hour' ? new Date(seconds * 1000) : uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    legend: { show: false },
    cursor: { y: false, drag: { setScale: false } },
    padding: [12, 16, 0, 0],
    scales: {
      // Bars reach half a step to either side of their time.
      x: { range: (_plot, min, max) => [min - stepOf(per) * 0.6, max + stepOf(per) * 0.6] },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        values: (_plot, at) => at.map((start) => shortDate(start, per)),
        space: 70,
        // A label twice is no help: no step is shorter than a part of the span.
        incrs: [1, 2, 3, 4, 6, 7, 12, 14].map((parts) => parts * stepOf(per)),
        size: 34,
      },
      {
        ...axis,
        values: (_plot, values) => values.map(kind.formatAxis),
        size: 60,
        ...(kind.isCount && { incrs: WHOLE_STEPS }),
      },
    ],
    series: [
      {},
      ...kind.series.map(({ label }, index) => ({
        label,
        stroke: colour(COLOURS[index] ?? ''),
        width: 2,
        ...(paths && { paths, fill: colour(COLOURS[index] ?? '') }),
        points: { show: kind.shape === 'lines', size: 6, fill: colour(COLOURS[index] ?? '') },
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx)] },
  };
}

/**
 * Asks the browser for a colour, since a canvas does not know `light-dark()`.
 *
 * @param {string} value
 */
function resolveColour(value) {
  const probe = element('span', { hidden: '' });
  probe.style.color = value;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** @param {Per} per */
function stepOf(per) {
  return { hour: 3600, day: 86_400, month: 30 * 86_400 }[per];
}

/**
 * @param {number} start
 * @param {Per} per
 */
function shortDate(start, per) {
  return (per === 'hour' ? HOUR : TIMES[per].format).format(start * 1000);
}

/**
 * @param {ChartKind} kind
 * @param {readonly Part[]} parts
 * @param {Per} per
 */
function tableOf(kind, parts, per) {
  const head = [nameOfTime(per), ...kind.series.map(({ label }) => label)];
  return element(
    'table',
    {},
    element('caption', { class: 'hidden-text' }, kind.title),
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        ...head.map((name, at) => element('th', { scope: 'col', ...(at > 0 && { class: 'number' }) }, name)),
      ),
    ),
    element(
      'tbody',
      {},
      ...parts.map((part) =>
        element(
          'tr',
          {},
          element('th', { scope: 'row' }, TIMES[per].format.format(part.start * 1000)),
          ...kind.series.map(({ valueOf }) => element('td', { class: 'number' }, formatted(kind, valueOf(part)))),
        ),
      ),
    ),
  );
}
