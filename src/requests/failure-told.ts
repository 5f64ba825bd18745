import { ApiError, isCancel, unreachable } from '../core/errors.ts';
import type { Ended } from './record.ts';

/**
 * Returns what a client is told of a request that ended with this failure, or with null for none, so
 * that it agrees with the record.
 */
export function failureToTell<Failure extends ApiError | null>(failure: Failure, ended: Ended): Failure | ApiError {
  switch (ended.kind) {
    case 'late':
    case 'discarded':
      return failure;
    case 'refused':
      // Nothing is told of an answer without a record, but that it was cancelled.
      return isCancel(failure) ? failure : ended.why;
    case 'recorded':
      // Another process was asked to cancel the request.
      if (ended.status === 'cancelled') return isCancel(failure) ? failure : new ApiError('request_cancelled');
      // Another process has taken this one for dead, and has closed its records.
      if (ended.status === 'failed') return failure ?? new ApiError('gateway_interrupted');
      return failure;
    default:
      return unreachable(ended);
  }
}
