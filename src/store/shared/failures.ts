/**
 * Why a batch could not be run. `busy` and `starting` pass by themselves within moments. After `lost` (the thread died, or
 * the connection during a commit) nobody knows whether the batch was committed; after all others it was not.
 */
export type FailureReason = 'busy' | 'starting' | 'full' | 'read_only' | 'io_error' | 'corrupt' | 'lost';

export interface Failure {
  readonly reason: FailureReason;
  /** For the operator's log. */
  readonly message: string;
}
