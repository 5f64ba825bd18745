import { element } from './dom.js';
import uPlot from './vendor/uplot.js';

/** @import { Part, Per } from './usage-sums.js' */

/**
 * @typedef {object} Series
 * @property {string} label
 * @property {(part: Part) => number | null} valueOf
 * @property {boolean} [isRest] What has no name of its own.
 *
 * @typedef {object} ChartKind
 * @property {string} title
 * @property {'bars' | 'lines'} shape Bars of several series stand upon each other.
 * @property {(value: number) => string} format
 * @property {(value: number) => string} formatAxis
 * @property {boolean} [isCount] Has no line between two whole numbers.
 * @property {readonly Series[]} series At most six.
 *
 * @typedef {object} Chart
 * @property {HTMLElement} figure
 * @property {(parts: readonly Part[], per: Per, series?: readonly Series[]) => void} show The figure must be in the page.
 */

const HEIGHT = 200;
const WHOLE_STEPS = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
/** @param {Intl.DateTimeFormatOptions} options */
const inUtc = (options) => new Intl.DateTimeFormat('en-GB', { timeZone: 'UTC', ...options });
/** @type {Readonly<Record<Per, { readonly name: string, readonly format: Intl.DateTimeFormat }>>} */
const TIMES = {
  hour: {
    name: 'Hour (UTC)',
    format: inUtc({ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }),
  },
  day: { name: 'Day (UTC)', format: inUtc({ day: 'numeric', month: 'short' }) },
  month: { name: 'Month (UTC)', format: inUtc({ month: 'short', year: 'numeric' }) },
};
const HOUR = inUtc({ hour: '2-digit', minute: '2-digit' });

/** @param {Per} per @returns {string} `Day (UTC)` */
export function nameOfTime(per) {
  return TIMES[per].name;
}

/** @param {number} start Unix time @param {Per} per */
export function formatTime(start, per) {
  return TIMES[per].format.format(start * 1000);
}

/** @type {(kind: ChartKind) => Chart} */
export function createChart(kind) {
  const plot = element('div', { class: 'plot', 'aria-hidden': 'true' });
  const reading = element('p', { class: 'reading muted small', 'aria-hidden': 'true' });
  const table = element('div', {
    class: 'table-scroll',
    tabindex: '0',
    role: 'region',
    'aria-label': `${kind.title}, table`,
  });
  const legend = element('span', { class: 'legend', 'aria-hidden': 'true' });
  const figure = element(
    'figure',
    { class: 'chart card' },
    element('figcaption', {}, kind.title, legend),
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
  let { series } = kind;

  function draw() {
    drawn?.destroy();
    drawn = null;
    const width = plot.clientWidth;
    // A hidden chart is drawn when it is shown.
    if (width === 0) return;
    drawn = new uPlot(optionsOf({ kind, series, per, width, onPoint: readOut }), dataOf(kind, series, parts), plot);
  }

  /** @param {number | null | undefined} index */
  function readOut(index) {
    // Without a pointer it is the latest.
    const part = parts[index ?? parts.length - 1];
    const values = series.map(({ label, valueOf }) => `${label} ${formatted(kind, part && valueOf(part))}`);
    reading.textContent = part === undefined ? '' : `${formatTime(part.start, per)}: ${values.join(', ')}`;
  }

  new ResizeObserver(() => {
    if (drawn !== null && plot.clientWidth > 0 && drawn.width !== plot.clientWidth) draw();
  }).observe(plot);
  // The canvas holds drawn colors, which do not follow the theme.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => drawn && draw());

  return {
    figure,
    show(nextParts, nextPer, nextSeries = kind.series) {
      parts = nextParts;
      per = nextPer;
      series = nextSeries;
      legend.replaceChildren(...(series.length > 1 ? series.map(legendEntry) : []));
      table.replaceChildren(tableOf({ kind, series, parts, per }));
      readOut(parts.length - 1);
      draw();
    },
  };
}

/** @param {ChartKind} kind @param {number | null | undefined} value */
function formatted(kind, value) {
  return value === null || value === undefined ? '–' : kind.format(value);
}

/** @param {Series} series @param {number} index */
function legendEntry(series, index) {
  const entry = element('span', {}, series.label);
  entry.style.setProperty('--series', `var(${colorOf(series, index)})`);
  return entry;
}

/** @param {Series} series @param {number} index */
function colorOf({ isRest = false }, index) {
  return isRest ? '--series-rest' : `--series-${index + 1}`;
}

/** @type {(kind: ChartKind, series: readonly Series[], parts: readonly Part[]) => uPlot.AlignedData} */
function dataOf({ shape }, series, parts) {
  const starts = parts.map(({ start }) => start);
  const values = series.map(({ valueOf }) => parts.map(valueOf));
  if (shape === 'lines') return [starts, ...values];
  // A bar reaches down to the axis, so each begins with the height of those below it, and they are drawn over it.
  const heights = values.map((_, at) => starts.map((_, part) => sumUpTo(values, at, part)));
  // A bar of no height would be a line.
  return [starts, ...heights.map((ofSeries) => ofSeries.map((value) => value || null)).toReversed()];
}

/** @param {readonly (readonly (number | null)[])[]} values @param {number} last @param {number} part */
function sumUpTo(values, last, part) {
  return values.slice(0, last + 1).reduce((sum, ofSeries) => sum + (ofSeries[part] ?? 0), 0);
}

/**
 * @param {object} options
 * @param {ChartKind} options.kind
 * @param {readonly Series[]} options.series
 * @param {Per} options.per
 * @param {number} options.width
 * @param {(index: number | null | undefined) => void} options.onPoint
 * @returns {uPlot.Options}
 */
function optionsOf({ kind, series, per, width, onPoint }) {
  const style = getComputedStyle(document.documentElement);
  const color = (/** @type {string} */ name) => resolveColor(style.getPropertyValue(name));
  const drawn = series.map((one, index) => ({ label: one.label, color: color(colorOf(one, index)) }));
  const isLines = kind.shape === 'lines';
  const axis = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { stroke: color('--line'), width: 1, size: 4 },
    font: `12px ${style.fontFamily}`,
  };
  const paths = isLines ? undefined : uPlot.paths.bars?.({ size: [0.7, 40] });
  return {
    width,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
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
        label: nameOfTime(per),
        labelSize: 20,
        labelFont: axis.font,
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
      // As the data: of bars, the last of a stack comes first.
      ...(isLines ? drawn : drawn.toReversed()).map(({ label, color: stroke }) => ({
        label,
        stroke,
        width: 2,
        ...(paths && { paths, fill: stroke }),
        points: { show: isLines, size: 6, fill: stroke },
      })),
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx)] },
  };
}

/** Asks the browser for a color, since a canvas does not know `light-dark()`. @param {string} value */
function resolveColor(value) {
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

/** @param {number} start @param {Per} per */
function shortDate(start, per) {
  return per === 'hour' ? HOUR.format(start * 1000) : formatTime(start, per);
}

/** @param {{ kind: ChartKind, series: readonly Series[], parts: readonly Part[], per: Per }} options */
function tableOf({ kind, series, parts, per }) {
  const head = [nameOfTime(per), ...series.map(({ label }) => label)];
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
          element('th', { scope: 'row' }, formatTime(part.start, per)),
          ...series.map(({ valueOf }) => element('td', { class: 'number' }, formatted(kind, valueOf(part)))),
        ),
      ),
    ),
  );
}
