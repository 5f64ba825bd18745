import { createChart } from './chart.js';
import { byId, element, say, showFacts } from './dom.js';
import { formatCount, formatCredits, formatMs, formatShort } from './format.js';
import { showOwnKey } from './key-card.js';
import { poll } from './poll.js';
import { meanMs, spanOf, sumByTime, sumOf } from './usage-sums.js';

/** @import { Chart, ChartKind } from './chart.js' */
/** @import { Client } from './client.js' */
/** @import { ConsoleConfig, View } from './main.js' */
/** @import { OwnKey, UsageList, UsageOfModel } from '../contract/types.ts' */
/** @import { Span, Sums } from './usage-sums.js' */

const EVERY_MS = 30_000;

/** @type {ChartKind} */
const COST = {
  title: 'Cost',
  shape: 'bars',
  format: formatCredits,
  formatAxis: formatCredits,
  series: [{ label: 'Cost', valueOf: ({ cost }) => cost }],
};

/** @type {readonly ChartKind[]} */
const CHARTS = [
  {
    title: 'Requests',
    shape: 'bars',
    format: formatCount,
    formatAxis: formatWhole,
    series: [{ label: 'Requests', valueOf: ({ requests }) => requests }],
  },
  {
    title: 'Tokens',
    shape: 'lines',
    format: formatCount,
    formatAxis: formatWhole,
    series: [
      { label: 'Input', valueOf: ({ input_tokens }) => input_tokens },
      { label: 'Output', valueOf: ({ output_tokens }) => output_tokens },
    ],
  },
  COST,
  {
    title: 'Errors',
    shape: 'lines',
    format: formatCount,
    formatAxis: formatWhole,
    series: [
      { label: 'Failed', valueOf: ({ failed }) => failed },
      { label: 'Cancelled', valueOf: ({ cancelled }) => cancelled },
    ],
  },
  {
    title: 'Mean time per request',
    shape: 'lines',
    format: formatMs,
    formatAxis: formatMs,
    series: [{ label: 'Mean', valueOf: meanMs }],
  },
];

/**
 * @param {{ client: Client, config: ConsoleConfig }} context
 * @returns {View}
 */
export function createUsageView({ client, config }) {
  const spanField = byId('usage-span', HTMLSelectElement);
  const modelField = byId('usage-model', HTMLSelectElement);
  const status = byId('usage-status', HTMLElement);
  const problem = byId('usage-problem', HTMLElement);
  const show = createCharts();
  const issuesKeys = config.auth_mode === 'managed';
  /** @type {{ rows: readonly UsageOfModel[], span: Span }} */
  let last = { rows: [], span: spanOf('day', 0) };
  /** @type {ReturnType<typeof poll> | null} */
  let polling = null;

  /** @param {AbortSignal} signal */
  async function ask(signal) {
    const span = spanOf(spanField.value, Date.now());
    const query = new URLSearchParams({ from: String(span.from), until: String(span.until), per: span.per });
    const [usage, key] = await Promise.all([
      client.get(`usage?${query}`, { signal }),
      issuesKeys ? client.get('key', { signal }) : null,
    ]);
    return { rows: /** @type {UsageList} */ (usage).data, span, key: /** @type {OwnKey | null} */ (key) };
  }

  function showLast() {
    const model = modelField.value;
    show(model === '' ? last.rows : last.rows.filter((row) => row.model === model), last.span);
  }

  byId('usage-filters', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
  spanField.addEventListener('change', () => polling?.now());
  modelField.addEventListener('change', showLast);

  return {
    show() {
      polling = poll({
        ask,
        show(usage) {
          last = usage;
          if (usage.key !== null) showOwnKey(usage.key);
          say(problem, null);
          say(status, 'Times are UTC');
          offerModels(modelField, usage.rows);
          showLast();
        },
        fail(failure) {
          say(problem, failure.sentence);
          say(status, 'Trying again …');
        },
        everyMs: EVERY_MS,
      });
    },
    hide() {
      polling?.stop();
      polling = null;
    },
  };
}

/**
 * @param {HTMLSelectElement} field
 * @param {readonly UsageOfModel[]} rows
 */
function offerModels(field, rows) {
  const chosen = field.value;
  const models = [...new Set(rows.map(({ model }) => model))].sort();
  field.replaceChildren(
    element('option', { value: '' }, 'all'),
    ...models.map((model) => element('option', { value: model }, model)),
  );
  field.value = models.includes(chosen) ? chosen : '';
}

/** @returns {(rows: readonly UsageOfModel[], span: Span) => void} */
function createCharts() {
  const totals = byId('usage-totals', HTMLElement);
  const empty = byId('usage-empty', HTMLElement);
  const place = byId('usage-charts', HTMLElement);
  /** @type {readonly (readonly [ChartKind, Chart])[]} */
  const charts = CHARTS.map((kind) => [kind, createChart(kind)]);
  place.append(...charts.map(([, chart]) => chart.figure));

  return (rows, span) => {
    const parts = sumByTime(rows, span);
    const total = sumOf(parts);
    empty.hidden = total.requests > 0;
    place.hidden = total.requests === 0;
    showTotals(totals, total);
    for (const [kind, chart] of charts) {
      // Without prices the cost is unknown, which is not a cost of zero.
      chart.figure.hidden = kind === COST && total.cost === 0;
      chart.show(parts, span.per);
    }
  };
}

/**
 * @param {HTMLElement} list
 * @param {Sums} total
 */
function showTotals(list, total) {
  const mean = meanMs(total);
  const share = total.requests === 0 ? '' : ` (${((100 * total.failed) / total.requests).toFixed(1)} %)`;
  showFacts(list, [
    ['Requests', formatCount(total.requests)],
    ['Failed', formatCount(total.failed) + share],
    ['Input tokens', formatShort(total.input_tokens)],
    ['Output tokens', formatShort(total.output_tokens)],
    ['Cost', total.cost === 0 ? null : formatCredits(total.cost)],
    ['Mean time', mean === null ? '–' : formatMs(mean)],
  ]);
}

/**
 * Steps of an axis between small counts get no number.
 *
 * @param {number} value
 */
function formatWhole(value) {
  return Number.isInteger(value) ? formatShort(value) : '';
}
