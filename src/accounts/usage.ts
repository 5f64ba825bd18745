import { cachedShareOf } from '../core/reply/usage.ts';
import { DAY_MS } from '../core/time.ts';
import type { UsageQuery, UsageRow } from '../core/books/keys.ts';
import type { UsageOfKey, UsageOfModel } from '../contract/types.ts';

export const USUAL_SPAN_MS: Readonly<Record<UsageQuery['per'], number>> = {
  hour: DAY_MS,
  day: 30 * DAY_MS,
  month: 365 * DAY_MS,
};

/** Returns a row of usage as its caller sees it. */
export function toUsageOfModel(row: UsageRow): UsageOfModel {
  return {
    start: row.startMs / 1000,
    model: row.model,
    requests: row.requests,
    failed: row.failed,
    cancelled: row.cancelled,
    input_tokens: row.inputTokens,
    cached_tokens: row.cachedTokens,
    cache_write_tokens: row.cacheWriteTokens,
    cached_share: cachedShareOf(row.cachedTokens, row.inputTokens),
    output_tokens: row.outputTokens,
    reasoning_tokens: row.reasoningTokens,
    cost: row.costMicro,
    saved: row.savedMicro,
    duration_ms: row.durationMs,
  };
}

/** Returns a row of usage for the operator, who sees all callers. */
export function toUsageOfKey(row: UsageRow): UsageOfKey {
  const { groupId } = row;
  return { key: labelCaller(row.caller), ...(groupId !== undefined && { group: groupId }), ...toUsageOfModel(row) };
}

/** Tells callers apart, and is too short to be the HMAC of a key. */
const LABEL_CHARACTERS = 8;

/** Returns the id of a key, or the beginning of an HMAC. */
export function labelCaller(caller: string): string {
  return caller.startsWith('key_') ? caller : caller.slice(0, LABEL_CHARACTERS);
}
