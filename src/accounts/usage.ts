import { DAY_MS } from '../core/day.ts';
import type { UsageQuery, UsageRow } from '../store/keys.ts';
import type { UsageOfKey, UsageOfModel } from '../contract/types.ts';

/** How far back an answer goes where nothing else is asked for. */
export const USUAL_SPAN_MS: Readonly<Record<UsageQuery['per'], number>> = {
  hour: DAY_MS,
  day: 30 * DAY_MS,
  month: 365 * DAY_MS,
};

/** What was used as its caller sees it. */
export function toUsageOfModel(row: UsageRow): UsageOfModel {
  return {
    start: row.startMs / 1000,
    model: row.model,
    requests: row.requests,
    failed: row.failed,
    cancelled: row.cancelled,
    input_tokens: row.inputTokens,
    cached_tokens: row.cachedTokens,
    output_tokens: row.outputTokens,
    reasoning_tokens: row.reasoningTokens,
    cost: row.costMicro,
    duration_ms: row.durationMs,
  };
}

/** As `toUsageOfModel`, for the operator, who sees all callers. */
export function toUsageOfKey(row: UsageRow): UsageOfKey {
  return { key: labelCaller(row.caller), ...toUsageOfModel(row) };
}

/** How much of a caller who has no id is shown: enough to tell callers apart, too little to be the HMAC of a key. */
const LABEL_CHARACTERS = 8;

/** What the operator sees of a caller: the id of a key as it is, of an HMAC only the beginning. */
export function labelCaller(caller: string): string {
  return caller.startsWith('key_') ? caller : caller.slice(0, LABEL_CHARACTERS);
}
