import { namesOf } from '../../core/ids.ts';
import type { StopSignal } from '../../core/stop-signal.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { UsageQuery, UsageRow, UsageTotal, UsageTotals, UsageTotalsQuery } from '../../core/books/keys.ts';
import type { BatchQueue, CallOptions } from '../queue/batch-queue.ts';
import { listMissing, type TotalRow, type TotalsStep } from '../rows/usage-rollups.ts';
import { addSums, toUsageRow, type HourSpan } from '../rows/usage.ts';
import { toPage } from './pages.ts';

const LOOKUP: CallOptions = { isLookup: true };
const LIST: CallOptions = { isLookup: true, isList: true };

/** Other calls wait for one step. All callers together have many rows, and one has at most 250 for an hour. */
const STEP_HOURS = { all: 24, own: 48 };

/** Returns the sums by time, caller and model, oldest first. */
export async function listUsage(
  queue: BatchQueue,
  { caller, group, fromMs, untilMs, per, atMost = Number.MAX_SAFE_INTEGER }: UsageQuery,
  signal: StopSignal | undefined,
): Promise<readonly UsageRow[]> {
  const { from: firstHour, until: endHour } = await findSpan(queue, fromMs, untilMs);
  const isOwn = caller !== undefined || (group !== undefined && group !== 'any');
  const stepHours = isOwn ? STEP_HOURS.own : STEP_HOURS.all;
  const limit = Math.min(atMost + 1, Number.MAX_SAFE_INTEGER);
  const sums = new Map<string, UsageRow>();
  for (let from = firstHour; from < endHour && sums.size <= atMost; from += stepHours) {
    const span = { from, until: Math.min(from + stepHours, endHour) };
    const takeSums =
      group === undefined
        ? (caller === undefined ? [null] : namesOf(caller)).map(
            (name) => () => queue.call(['sumUsage', name, per, span, limit], LIST),
          )
        : [() => queue.call(['sumGroupUsage', group === 'any' ? null : group, per, span, limit], LIST)];
    for (const take of takeSums) {
      signal?.throwIfAborted();
      for (const found of await take()) {
        const row = toUsageRow(found, caller?.[0]);
        const key = JSON.stringify([row.startMs, row.groupId, row.caller, row.model]);
        const sum = sums.get(key);
        sums.set(key, sum === undefined ? row : addSums(sum, row));
      }
    }
  }
  return [...sums.values()].sort((one, other) => one.startMs - other.startMs);
}

/** Returns the totals of a time, by what costs most or by the latest time. */
export async function listUsageTotals(
  queue: BatchQueue,
  { by, caller, group, model, fromMs, untilMs, per, limit }: UsageTotalsQuery,
  signal: StopSignal | undefined,
): Promise<UsageTotals> {
  const span = await findSpan(queue, fromMs, untilMs);
  const [name = null] = caller ?? [];
  const step = { by, per, caller: name, groupId: group ?? null, model: model ?? null, span, limit: limit + 1 };
  const sum = (step: TotalsStep) => {
    signal?.throwIfAborted();
    return queue.call(['sumTotals', step], LIST);
  };
  const isInSteps = by === 'time' && per === 'hour';
  const found = isInSteps ? await sumLatest(step, sum) : await sum(step);
  const [whole] = isInSteps ? await sum({ ...step, by: 'all' }) : found;
  const { rows, hasMore } = toPage(found, limit);
  return { total: whole === undefined ? NOTHING : toWhole(whole), totals: rows.map(toTotal), hasMore };
}

/** Hours are read from the latest, in steps, until there are enough. */
async function sumLatest(
  step: TotalsStep,
  sum: (step: TotalsStep) => Promise<readonly TotalRow[]>,
): Promise<readonly TotalRow[]> {
  const { span, limit } = step;
  const rows: TotalRow[] = [];
  for (let { until } = span; until > span.from && rows.length < limit; until -= STEP_HOURS.all) {
    rows.push(...(await sum({ ...step, span: { from: Math.max(span.from, until - STEP_HOURS.all), until } })));
  }
  return rows;
}

const NOTHING: UsageTotal = {
  name: '',
  requests: 0,
  failed: 0,
  cancelled: 0,
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  costMicro: 0,
  savedMicro: 0,
  durationMs: 0,
};

function toWhole(row: TotalRow): UsageTotal {
  return toTotal({
    ...row,
    name: '',
    requests: row.whole_requests,
    failed: row.whole_failed,
    cancelled: row.whole_cancelled,
    inputTokens: row.whole_inputTokens,
    cachedTokens: row.whole_cachedTokens,
    outputTokens: row.whole_outputTokens,
    costMicro: row.whole_costMicro,
    savedMicro: row.whole_savedMicro,
    durationMs: row.whole_durationMs,
  });
}

function toTotal(row: TotalRow): UsageTotal {
  const within = (sum: number) => Math.min(sum, Number.MAX_SAFE_INTEGER);
  return {
    name: typeof row.name === 'number' ? new Date(row.name * HOUR_MS).toISOString() : row.name,
    requests: within(row.requests),
    failed: within(row.failed),
    cancelled: within(row.cancelled),
    inputTokens: within(row.inputTokens),
    cachedTokens: within(row.cachedTokens),
    outputTokens: within(row.outputTokens),
    costMicro: within(row.costMicro),
    savedMicro: within(row.savedMicro),
    durationMs: within(row.durationMs),
  };
}

/** Sums up one more span of days that are over. Returns whether there are others. */
export async function rollUpUsage(queue: BatchQueue, nowMs: number): Promise<boolean> {
  const known = await queue.call(['findUsageSpan'], LOOKUP);
  const made = await queue.call(['listRollups'], LOOKUP);
  const [next, ...others] = listMissing(known, Math.floor(nowMs / HOUR_MS), made);
  if (next !== undefined) await queue.call(['rollUp', next]);
  return others.length > 0;
}

async function findSpan(queue: BatchQueue, fromMs: number, untilMs: number): Promise<HourSpan> {
  const known = await queue.call(['findUsageSpan'], LOOKUP);
  return {
    from: Math.max(known.from, Math.floor(fromMs / HOUR_MS)),
    until: Math.min(known.until, Math.ceil(untilMs / HOUR_MS)),
  };
}
