import { nameOfTime } from './chart.js';
import { byId, element, say, showFacts } from './dom.js';
import { formatCachedShare, formatCount, formatCredits, formatMs, formatShort } from './format.js';
import { createKeyCard } from './key-card.js';
import { poll } from './poll.js';
import { CACHE_CHART, COST_CHART, createCharts, REQUESTS_CHART, STATS_CHARTS } from './usage-charts.js';
import { meanMs, ofModel, spanOf, sumByTime, sumOf, withStats } from './usage-sums.js';

/** @import { ChartKind } from './chart.js' */
/** @import { Client } from './client.js' */
/** @import { ConsoleConfig, View } from './main.js' */
/** @import { OwnKey, UsageList, UsageOfModel } from '../contract/record-types.ts' */
/** @import { Span, Sums } from './usage-sums.js' */

/** @typedef {{ list: UsageList, span: Span }} Usage */

const EVERY_MS = 30_000;

/** @type {readonly ChartKind[]} */
const CHARTS = [
  REQUESTS_CHART,
  {
    title: 'Tokens',
    shape: 'lines',
    format: formatCount,
    formatAxis: formatShort,
    isCount: true,
    series: [
      { label: 'Input', valueOf: ({ input_tokens }) => input_tokens },
      { label: 'Output', valueOf: ({ output_tokens }) => output_tokens },
    ],
  },
  CACHE_CHART,
  COST_CHART,
  {
    title: 'Errors',
    shape: 'lines',
    format: formatCount,
    formatAxis: formatShort,
    isCount: true,
    series: [
      { label: 'Failed', valueOf: ({ failed }) => failed },
      { label: 'Cancelled', valueOf: ({ cancelled }) => cancelled },
    ],
  },
  ...STATS_CHARTS,
];

/** @type {(context: { client: Client, config: ConsoleConfig }) => View} */
export function createUsageView({ client, config }) {
  const spanField = byId('usage-span', HTMLSelectElement);
  const modelField = byId('usage-model', HTMLSelectElement);
  const status = byId('usage-status', HTMLElement);
  const problem = byId('usage-problem', HTMLElement);
  const show = createDisplay();
  const showOwnKey = createKeyCard();
  /** @type {string | null} null as long as no prices are known. */
  let currency = null;
  const issuesKeys = config.auth_mode === 'managed';
  /** @type {Usage} */
  let last = { list: { object: 'list', data: [], latencies: [], rejected: [], backends: [] }, span: spanOf('day', 0) };
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
    return { list: /** @type {UsageList} */ (usage), span, key: /** @type {OwnKey | null} */ (key) };
  }

  function showLast() {
    const model = modelField.value;
    show(last, model === '' ? null : model, currency);
  }

  byId('usage-filters', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
  spanField.addEventListener('change', () => {
    say(status, 'Loading …');
    polling?.now();
  });
  modelField.addEventListener('change', showLast);

  return {
    show() {
      say(status, 'Loading …');
      polling = poll({
        ask,
        show(usage) {
          last = usage;
          if (usage.key !== null) {
            currency = usage.key.currency;
            showOwnKey(usage.key);
          }
          say(problem, null);
          say(status, nameOfTime(usage.span.per));
          offerModels(modelField, usage.list.data);
          showLast();
        },
        fail(failure) {
          say(problem, failure.sentence);
          say(status, failure.isFinal ? null : 'Trying again …');
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

/** @type {(field: HTMLSelectElement, rows: readonly UsageOfModel[]) => void} */
function offerModels(field, rows) {
  const chosen = field.value;
  const models = [...new Set(rows.map(({ model }) => model))].sort();
  const offered = [...field.options].slice(1).map(({ value }) => value);
  // Somebody may be choosing one.
  if (JSON.stringify(models) === JSON.stringify(offered)) return;
  field.replaceChildren(
    element('option', { value: '' }, 'all'),
    ...models.map((model) => element('option', { value: model }, model)),
  );
  field.value = models.includes(chosen) ? chosen : '';
}

/** @returns {(usage: Usage, model: string | null, currency: string | null) => void} */
function createDisplay() {
  const totals = byId('usage-totals', HTMLElement);
  const empty = byId('usage-empty', HTMLElement);
  const draw = createCharts(byId('usage-charts', HTMLElement), CHARTS);

  return ({ list, span }, model, currency) => {
    const rows = list.data.filter((row) => model === null || row.model === model);
    const parts = sumByTime(rows, span);
    showTotals(totals, sumOf(parts), currency);
    empty.hidden = draw({
      parts: withStats(parts, list, model),
      rejected: ofModel(list.rejected, model),
      backends: ofModel(list.backends, model),
      per: span.per,
    });
  };
}

/** @type {(list: HTMLElement, total: Sums, currency: string | null) => void} */
function showTotals(list, total, currency) {
  const mean = meanMs(total);
  /** @param {number} amount */
  const show = (amount) => (amount === 0 ? null : `${formatCredits(amount)} ${currency ?? ''}`.trim());
  const share = total.requests === 0 ? '' : ` (${((100 * total.failed) / total.requests).toFixed(1)}%)`;
  showFacts(list, [
    ['Requests', formatCount(total.requests)],
    ['Failed', formatCount(total.failed) + share],
    ['Input tokens', formatShort(total.input_tokens)],
    ['Cached', formatCachedShare(total)],
    ['Output tokens', formatShort(total.output_tokens)],
    ['Cost', show(total.cost)],
    ['Saved by the cache', show(total.saved)],
    ['Mean time', mean === null ? '–' : formatMs(mean)],
  ]);
}
