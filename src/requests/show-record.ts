import { ERRORS } from '../core/errors.ts';
import { toResponseIdOf } from '../core/ids.ts';
import type { StoredRecord } from '../store/store.ts';
import type { RequestRecord } from '../contract/types.ts';

/** The record as the contract shows it (section 6). */
export function toRecord(stored: StoredRecord, baseUrl: string): RequestRecord {
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
    cancel_requested_at: stored.cancelRequestedAtMs === null ? null : toSeconds(stored.cancelRequestedAtMs),
    usage: stored.usage,
    usage_estimated: stored.usageEstimated,
    cost: stored.costMicro,
    incomplete_details: stored.incompleteReason === null ? null : { reason: stored.incompleteReason },
    // Out of our own table alone: the backend's words can quote the prompt, and are not stored.
    error: stored.errorCode === null ? null : { code: stored.errorCode, message: ERRORS[stored.errorCode].message },
  };
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
