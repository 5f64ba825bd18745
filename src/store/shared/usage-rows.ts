import type { UsageRow } from '../keys.ts';
import type { ClosedRecord } from './rows.ts';

export const HOUR_MS = 3_600_000;

export type UsageSumRow = readonly [
  startHour: number,
  caller: string,
  model: string,
  requests: number,
  failed: number,
  cancelled: number,
  inputTokens: number,
  cachedTokens: number,
  outputTokens: number,
  reasoningTokens: number,
  costMicro: number,
  durationMs: number,
];

/** A span of UTC hours, counted from 1970; the last one is not included. */
export interface HourSpan {
  readonly from: number;
  readonly until: number;
}

/** The columns which are added up, in the order of a UsageSumRow. */
export const USAGE_SUMS = [
  'requests',
  'failed',
  'cancelled',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_micro',
  'duration_ms',
] as const;

/** What a record that has just become final adds to what its caller used of its model in this hour. */
export function toUsageSum({ caller, model, status, createdAtMs, endedAtMs, ...used }: ClosedRecord): UsageSumRow {
  return [
    Math.floor(endedAtMs / HOUR_MS),
    caller,
    model,
    1,
    status === 'failed' ? 1 : 0,
    status === 'cancelled' ? 1 : 0,
    used.inputTokens ?? 0,
    used.cachedTokens ?? 0,
    used.outputTokens ?? 0,
    used.reasoningTokens ?? 0,
    used.costMicro ?? 0,
    // A clock that was set back meanwhile.
    Math.max(0, endedAtMs - createdAtMs),
  ];
}

/** Two sums of the same hour, caller and model, within what JavaScript counts exactly, whatever backends report. */
export function addSums(one: UsageSumRow, other: UsageSumRow): UsageSumRow {
  const [hour, caller, model, requests, failed, cancelled, input, cached, output, reasoning, cost, durationMs] = one;
  const add = (amount: number, index: number) => Math.min(amount + Number(other[index]), Number.MAX_SAFE_INTEGER);
  return [
    hour,
    caller,
    model,
    add(requests, 3),
    add(failed, 4),
    add(cancelled, 5),
    add(input, 6),
    add(cached, 7),
    add(output, 8),
    add(reasoning, 9),
    add(cost, 10),
    add(durationMs, 11),
  ];
}

/** A row as the rest of the program knows it; one caller has one name, also of what was used under an earlier one. */
export function toUsageRow(row: UsageSumRow, ownName: string | undefined): UsageRow {
  const [startHour, caller, model, requests, failed, cancelled] = row;
  const [, , , , , , inputTokens, cachedTokens, outputTokens, reasoningTokens, costMicro, durationMs] = row;
  return {
    startMs: startHour * HOUR_MS,
    caller: ownName ?? caller,
    model,
    requests,
    failed,
    cancelled,
    inputTokens,
    cachedTokens,
    outputTokens,
    reasoningTokens,
    costMicro,
    durationMs,
  };
}

/** Adds what belongs to the same span, caller and model. */
export function addUsage(one: UsageRow, other: UsageRow): UsageRow {
  return {
    ...one,
    requests: one.requests + other.requests,
    failed: one.failed + other.failed,
    cancelled: one.cancelled + other.cancelled,
    inputTokens: one.inputTokens + other.inputTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    costMicro: one.costMicro + other.costMicro,
    durationMs: one.durationMs + other.durationMs,
  };
}
