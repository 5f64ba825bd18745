import { ApiError, messageInRecord } from '../core/errors.ts';
import { toResponseIdOf } from '../core/ids.ts';
import { cachedShareOf } from '../core/reply/usage.ts';
import type { ShownPolicy } from '../core/routes.ts';
import { toSeconds } from '../core/time.ts';
import type { StoredRecord } from '../core/books/store.ts';
import type { RequestRecord } from '../contract/types.ts';
import type { Incoming } from './incoming.ts';

export interface ShownRecord {
  readonly baseUrl: string;
  readonly exposesUpstream: boolean;
}

/** Returns the record as schemas/request-record.json has it. */
export function toRecord(stored: StoredRecord, { baseUrl, exposesUpstream }: ShownRecord): RequestRecord {
  return {
    object: 'request',
    request_id: stored.requestId,
    response_id: toResponseIdOf(stored.requestId),
    status: stored.status,
    status_url: `${baseUrl}/api/v1/requests/${stored.requestId}`,
    endpoint: stored.endpoint,
    model: stored.model,
    stream: stored.stream,
    created_at: toSeconds(stored.createdAtMs),
    completed_at: stored.completedAtMs === null ? null : toSeconds(stored.completedAtMs),
    duration_ms: stored.completedAtMs === null ? null : Math.max(0, stored.completedAtMs - stored.createdAtMs),
    cancel_requested_at: stored.cancelRequestedAtMs === null ? null : toSeconds(stored.cancelRequestedAtMs),
    usage: stored.usage,
    usage_estimated: stored.usageEstimated,
    cost: stored.costMicro,
    cache: toCache(stored),
    upstream: exposesUpstream ? stored.upstream : null,
    incomplete_details: stored.incompleteReason === null ? null : { reason: stored.incompleteReason },
    // A message of the backend can quote the prompt, so it is not stored.
    error: stored.errorCode === null ? null : { code: stored.errorCode, message: messageInRecord(stored.errorCode) },
  };
}

/** Where the usage is estimated, nobody knows what came from the cache. */
function toCache({ usage, usageEstimated, promptTurn, savedMicro }: StoredRecord): RequestRecord['cache'] {
  if (usage === null || usageEstimated) return null;
  const { cached_tokens } = usage.input_tokens_details;
  const broken = promptTurn?.turn === 'broken' ? promptTurn : undefined;
  return {
    cached_tokens,
    share: cachedShareOf(cached_tokens, usage.input_tokens),
    saved: savedMicro,
    turn: promptTurn?.turn ?? null,
    broken_at: broken?.at ?? null,
    broken_by: broken?.by ?? null,
  };
}

const STATES: Readonly<Record<StoredRecord['status'], string>> = {
  processing: 'is still running',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'was cancelled',
};

export type DuplicateStatus = 200 | 202 | 409;

export interface DuplicateServices {
  readonly duplicateStatus: DuplicateStatus;
  readonly policy: () => ShownPolicy;
}

/** Answers with the record, and with an error unless the status is a success. */
export function sendDuplicate(
  incoming: Incoming,
  stored: StoredRecord,
  { duplicateStatus: status, policy }: DuplicateServices,
): void {
  const record = toRecord(stored, { baseUrl: incoming.baseUrl(), ...policy() });
  incoming.facts.errorCode = 'duplicate_request';
  const { error } = new ApiError('duplicate_request', {
    message:
      `This request was made before, as ${record.request_id}, which ${STATES[record.status]}. Its answer is not kept; ` +
      `its state is at ${record.status_url}. Use a new Idempotency-Key to run it again.`,
  }).toBody();
  incoming.setHeader('x-request-id', record.request_id);
  incoming.setHeader('location', record.status_url);
  incoming.setHeader('x-should-retry', 'false');
  incoming.setHeader('idempotency-replayed', 'true');
  incoming.sendDuplicate(status, record, status === 409 ? error : undefined);
}
