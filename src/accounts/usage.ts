import { cachedShareOf } from '../core/reply/usage.ts';
import { ApiError } from '../core/errors.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import type { AccountStore, UsageQuery, UsageRow } from '../core/books/keys.ts';
import type { UsageOfModel } from '../contract/record-types.ts';
import type { UsageOfKey } from '../contract/operator-types.ts';

/** A caller can name any number of models, and all of them can end up in the list. */
const MAX_ENTRIES = 10_000;

/** Returns the rows of a query. Throws ApiError where the answer would be too long. */
export async function listUsage(
  store: Pick<AccountStore, 'listUsage'>,
  query: UsageQuery,
  signal: StopSignal,
): Promise<readonly UsageRow[]> {
  const rows = await store.listUsage({ ...query, atMost: MAX_ENTRIES }, signal);
  if (rows.length <= MAX_ENTRIES) return rows;
  throw new ApiError('invalid_request', {
    param: 'from',
    message: `The answer has more than ${MAX_ENTRIES} entries. Ask for less time, or for longer spans.`,
  });
}

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
