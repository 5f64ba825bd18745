import { ApiError } from '../../core/errors.ts';

/**
 * `busy` and `starting` end within moments. After `lost` (the thread died, or the connection during
 * a commit) the batch may have been committed; after all other reasons it was not.
 */
export type FailureReason = 'busy' | 'starting' | 'full' | 'read_only' | 'io_error' | 'corrupt' | 'moved' | 'lost';

export interface Failure {
  readonly reason: FailureReason;
  readonly message: string;
}

/** Returns the error of a call that has changed nothing that stays. */
export function toUnavailable(why: string, message?: string): ApiError {
  return new ApiError('store_unavailable', {
    ...(message !== undefined && { message }),
    cause: new Error(why),
    headers: { 'retry-after': '1' },
  });
}
