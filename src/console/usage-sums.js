/** All spans are in UTC, as in the gateway. */

/** @import { UsageCurve } from '../contract/operator-types.ts' */
/** @import { InputOfBackend, Latency, Percentiles, Rejection, UsageOfModel } from '../contract/record-types.ts' */
/** @import { Series } from './chart.js' */

/**
 * @typedef {Omit<UsageOfModel, 'model' | 'cached_share'>} Sums
 *
 * @typedef {Sums & {
 *   first_token: Percentiles | null,
 *   duration: Percentiles | null,
 *   rejected: number,
 * }} Part
 *
 * @typedef {'hour' | 'day' | 'month'} Per
 *
 * @typedef {object} Span
 * @property {Per} per
 * @property {number} from Unix time
 * @property {number} until Not included.
 *
 * @typedef {object} BackendSum
 * @property {string} name
 * @property {number} input_tokens
 * @property {number} cached_tokens
 * @property {number} reachable_tokens
 * @property {number} moved_turns
 * @property {number} saved In millionths.
 * @property {UsageShares['data']} data
 *
 * @typedef {{ readonly name: string | null, readonly data: readonly Pick<UsageCurve['data'][number], 'start' | 'cached_share'>[] }} UsageShares
 */

const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;

/** @type {Readonly<Record<string, { readonly per: Per, readonly count: number }>>} */
const SPANS = {
  day: { per: 'hour', count: 24 },
  week: { per: 'day', count: 7 },
  month: { per: 'day', count: 30 },
  year: { per: 'month', count: 12 },
};

/**
 * Returns the last day, week, month or year up to now. The current hour, day or month is its last
 * part.
 * @type {(name: string, nowMs: number) => Span}
 */
export function spanOf(name, nowMs) {
  const { per, count } = SPANS[name] ?? { per: 'day', count: 7 };
  const now = new Date(nowMs);
  if (per === 'month') {
    const monthAt = (/** @type {number} */ offset) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset) / 1000;
    return { per, from: monthAt(1 - count), until: monthAt(1) };
  }
  const step = per === 'hour' ? HOUR_S : DAY_S;
  const until = (Math.floor(nowMs / 1000 / step) + 1) * step;
  return { per, from: until - count * step, until };
}

/**
 * Returns the sums of all rows for each part of the span, including parts without requests.
 * @param {readonly UsageOfModel[]} rows
 * @param {Span} span
 * @returns {readonly Sums[]} oldest first
 */
export function sumByTime(rows, span) {
  const parts = new Map(startsOf(span).map((start) => [start, nothing(start)]));
  for (const row of rows) {
    const part = parts.get(row.start);
    if (part !== undefined) add(part, row);
  }
  return [...parts.values()];
}

/**
 * Returns the parts with how long requests took in them, and how many were rejected.
 * @param {readonly Sums[]} parts
 * @param {{ readonly latencies: readonly Latency[], readonly rejected: readonly Rejection[] }} stats
 * @param {string | null} model null for all
 * @returns {readonly Part[]}
 */
export function withStats(parts, { latencies, rejected }, model) {
  const found = new Map(latencies.filter((one) => one.model === model).map((one) => [one.start, one]));
  return parts.map((part) => {
    const { first_token = null, duration = null } = found.get(part.start) ?? {};
    const refused = ofModel(rejected, model).filter(({ start }) => start === part.start);
    return { ...part, first_token, duration, rejected: refused.reduce((sum, { count }) => sum + count, 0) };
  });
}

/**
 * Returns the lines of the share of the input that came from the backend's cache: of all, and of each name.
 *
 * @param {readonly UsageShares[]} curves
 * @param {ReadonlyMap<string | null, string>} [labels] Of names that are ids.
 * @returns {readonly Series[]}
 */
export function sharesOf(curves, labels) {
  return curves.map(({ name, data }) => {
    const shares = new Map(data.map(({ start, cached_share }) => [start, cached_share]));
    return { label: labels?.get(name) ?? name ?? '', valueOf: ({ start }) => shares.get(start) ?? null };
  });
}

/**
 * Returns what a chart stacks: the parts that have a name, and the rest of all.
 * @param {readonly UsageCurve[]} curves Of all, then of each name.
 * @param {'requests' | 'cost'} value
 * @param {ReadonlyMap<string | null, string>} labels Of the names, and of all as null.
 * @returns {readonly Series[]}
 */
export function stackOf(curves, value, labels) {
  const [whole, ...named] = curves.map(({ name, data }) => {
    const values = new Map(data.map((point) => [point.start, point[value]]));
    return {
      label: labels.get(name) ?? '',
      valueOf: (/** @type {{ start: number }} */ { start }) => values.get(start) ?? 0,
    };
  });
  if (whole === undefined || named.length === 0) return whole === undefined ? [] : [whole];
  const restOf = (/** @type {{ start: number }} */ part) =>
    named.reduce((rest, { valueOf }) => rest - valueOf(part), whole.valueOf(part));
  const hasRest = curves[0]?.data.some((point) => restOf(point) > 0);
  return hasRest ? [...named, { label: 'others', valueOf: restOf, isRest: true }] : named;
}

/**
 * Returns what each backend read, and the share of it that came from its cache over time, the one that read most first.
 * @param {readonly InputOfBackend[]} rows
 * @returns {readonly BackendSum[]}
 */
export function sumByBackend(rows) {
  return [...Map.groupBy(rows, ({ backend }) => backend)]
    .map(([name, own]) => ({
      name,
      ...addInputs(own),
      data: [...Map.groupBy(own, ({ start }) => start)].map(([start, part]) => {
        const { cached_tokens, input_tokens } = addInputs(part);
        return { start, cached_share: cached_tokens / input_tokens };
      }),
    }))
    .sort((one, other) => other.input_tokens - one.input_tokens);
}

/** @param {readonly InputOfBackend[]} rows */
function addInputs(rows) {
  const sums = { input_tokens: 0, cached_tokens: 0, reachable_tokens: 0, moved_turns: 0, saved: 0 };
  for (const row of rows) {
    sums.input_tokens += row.input_tokens;
    sums.cached_tokens += row.cached_tokens;
    sums.reachable_tokens += row.reachable_tokens;
    sums.moved_turns += row.moved_turns;
    sums.saved += row.saved;
  }
  return sums;
}

/**
 * @template {{ readonly model: string | null }} Row
 * @param {readonly Row[]} rows
 * @param {string | null} model null for all
 */
export function ofModel(rows, model) {
  return rows.filter((one) => model === null || one.model === model);
}

/** @type {(parts: readonly Sums[]) => Sums} */
export function sumOf(parts) {
  const whole = nothing(parts[0]?.start ?? 0);
  for (const part of parts) add(whole, part);
  return whole;
}

/** Returns the average time of a request. @param {Sums} sums @returns {number | null} null when there was none */
export function meanMs({ requests, duration_ms }) {
  return requests === 0 ? null : duration_ms / requests;
}

/** @type {(span: Span) => readonly number[]} */
function startsOf({ per, from, until }) {
  const starts = [];
  for (let start = from; start < until; start = nextStart(start, per)) starts.push(start);
  return starts;
}

/** @param {number} start @param {Per} per */
function nextStart(start, per) {
  if (per === 'hour') return start + HOUR_S;
  if (per === 'day') return start + DAY_S;
  const date = new Date(start * 1000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) / 1000;
}

/** @type {(start: number) => Sums} */
function nothing(start) {
  return {
    start,
    requests: 0,
    failed: 0,
    cancelled: 0,
    input_tokens: 0,
    cached_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    cost: 0,
    saved: 0,
    duration_ms: 0,
  };
}

/** @type {(sums: Sums, more: Sums) => void} */
function add(sums, more) {
  sums.requests += more.requests;
  sums.failed += more.failed;
  sums.cancelled += more.cancelled;
  sums.input_tokens += more.input_tokens;
  sums.cached_tokens += more.cached_tokens;
  sums.cache_write_tokens += more.cache_write_tokens;
  sums.output_tokens += more.output_tokens;
  sums.reasoning_tokens += more.reasoning_tokens;
  sums.cost += more.cost;
  sums.saved += more.saved;
  sums.duration_ms += more.duration_ms;
}
