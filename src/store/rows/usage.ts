import type { GroupId } from '../../contract/ids.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { DetailedSums, UsageRow } from '../../core/books/keys.ts';
import type { RecordRow } from './records.ts';

export interface UsageSumRow extends DetailedSums {
  readonly startHour: number;
  readonly caller: string;
  readonly model: string;
}

export interface GroupUsageRow extends UsageSumRow {
  readonly groupId: GroupId;
}

/** UTC hours, counted from 1970. It does not include `until`. */
export interface HourSpan {
  readonly from: number;
  readonly until: number;
}

/** A caller can name any number of models, and whoever asks for the usage has all of them read. */
const MAX_MODELS_OF_HOUR = 250;
/** The name under which further models of a caller and an hour are counted together. */
const OTHER_MODELS = '(others)';

/**
 * Returns the SQL of the name under which a sum is counted: its own if it has a row or there is room for one.
 * `whose` finds the rows of its caller and hour.
 */
export function countedName(table: string, whose: string, model: string): string {
  return `CASE WHEN EXISTS (SELECT 1 FROM ${table} WHERE ${whose} AND model = ${model})
    OR (SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE ${whose} LIMIT ${MAX_MODELS_OF_HOUR}) AS counted) < ${MAX_MODELS_OF_HOUR}
    THEN ${model} ELSE '${OTHER_MODELS}' END`;
}

export const SUM_COLUMNS: { readonly [Name in keyof DetailedSums]: string } = {
  requests: 'requests',
  failed: 'failed',
  cancelled: 'cancelled',
  inputTokens: 'input_tokens',
  cachedTokens: 'cached_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  outputTokens: 'output_tokens',
  reasoningTokens: 'reasoning_tokens',
  costMicro: 'cost_micro',
  savedMicro: 'saved_micro',
  durationMs: 'duration_ms',
};

export const USAGE_SUMS = Object.entries(SUM_COLUMNS).map(([name, column]) => ({ name, column }));

export const SELECT_SUMS = USAGE_SUMS.map(({ name, column }) => `sum(${column}) AS "${name}"`).join(', ');

/** Returns what a final record adds to the usage of its caller and model, or takes from it with `times` -1. */
export function toUsageSum(closed: RecordRow, times: 1 | -1): UsageSumRow {
  const { caller, model, status, createdAtMs } = closed;
  const completedAtMs = closed.completedAtMs ?? createdAtMs;
  return {
    startHour: Math.floor(completedAtMs / HOUR_MS),
    caller,
    model,
    requests: times,
    failed: status === 'failed' ? times : 0,
    cancelled: status === 'cancelled' ? times : 0,
    inputTokens: times * (closed.inputTokens ?? 0),
    cachedTokens: times * (closed.cachedTokens ?? 0),
    cacheWriteTokens: times * (closed.cacheWriteTokens ?? 0),
    outputTokens: times * (closed.outputTokens ?? 0),
    reasoningTokens: times * (closed.reasoningTokens ?? 0),
    costMicro: times * (closed.costMicro ?? 0),
    savedMicro: times * (closed.savedMicro ?? 0),
    // The clock may have been set back meanwhile.
    durationMs: times * Math.max(0, completedAtMs - createdAtMs),
  };
}

/** Adds two sums, which stay within the safe integers whatever backends report. */
export function addSums<Row extends DetailedSums>(one: Row, other: DetailedSums): Row {
  const add = (name: keyof DetailedSums) => Math.min(one[name] + other[name], Number.MAX_SAFE_INTEGER);
  return {
    ...one,
    requests: add('requests'),
    failed: add('failed'),
    cancelled: add('cancelled'),
    inputTokens: add('inputTokens'),
    cachedTokens: add('cachedTokens'),
    cacheWriteTokens: add('cacheWriteTokens'),
    outputTokens: add('outputTokens'),
    reasoningTokens: add('reasoningTokens'),
    costMicro: add('costMicro'),
    savedMicro: add('savedMicro'),
    durationMs: add('durationMs'),
  };
}

/**
 * Returns the usage row. `ownName` replaces the name that the caller had under an earlier secret.
 */
export function toUsageRow({ startHour, ...row }: UsageSumRow | GroupUsageRow, ownName: string | undefined): UsageRow {
  return { ...row, startMs: startHour * HOUR_MS, caller: ownName ?? row.caller };
}
