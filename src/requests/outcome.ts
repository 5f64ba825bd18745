import type { KeyOwner } from '../backend/failures.ts';
import type { ApiError } from '../core/errors.ts';
import type { IncompleteReason, Outcome } from '../store/store.ts';
import type { Usage } from '../contract/types.ts';

/** How a request ended, on either endpoint. */
export interface Ending {
  readonly failure: ApiError | null;
  readonly incompleteReason: IncompleteReason | null;
  /** As the backend reported it. */
  readonly usage: Usage | null;
  /** What the model wrote, in UTF-16 code units. */
  readonly outputLength: number;
  /** Whether the client has got any of the model's output, or could have. */
  readonly hasOutput: boolean;
}

export interface OutcomeOptions {
  readonly completedAtMs: number;
  /** Whose key the backend judges: the caller's, or the gateway's own. */
  readonly keyOwner: KeyOwner;
  /** By arithmetic, for when the backend has reported no usage. */
  readonly estimateUsage: () => Usage;
  /** In millionths; null when the model has no price. */
  readonly costOf: (usage: Usage) => number | null;
}

/** What ends how: the table of the contract, section 6. `discard` takes the record back. */
export function outcomeOf(ending: Ending, options: OutcomeOptions): Outcome | 'discard' {
  const { failure, hasOutput } = ending;
  if (failure === null) return { ...used('succeeded'), incompleteReason: ending.incompleteReason };
  if (failure.code === 'request_cancelled' || failure.code === 'client_disconnected') {
    return { ...used('cancelled'), errorCode: failure.code };
  }
  if (!hasOutput && options.keyOwner === 'caller' && (failure.status === 401 || failure.status === 403)) {
    return 'discard';
  }
  if (hasOutput || failure.code === 'gateway_interrupted') return { ...used('failed'), errorCode: failure.code };
  return {
    ...used('failed'),
    errorCode: failure.code,
    usage: ending.usage,
    usageEstimated: false,
    costMicro: null,
    freesIdempotencyKey: nothingRan(failure),
  };

  function used(status: Outcome['status']): Outcome {
    const usage = ending.usage ?? options.estimateUsage();
    return {
      status,
      completedAtMs: options.completedAtMs,
      usage,
      usageEstimated: ending.usage === null,
      costMicro: options.costOf(usage),
      incompleteReason: null,
      errorCode: null,
      freesIdempotencyKey: false,
    };
  }
}

/**
 * The backend refused the request or was never reached, so trying again with the same key does nothing twice. Some refusals
 * are the operator's fault (a wrong key or address) and a 502 for the caller; that asking again does not help tells them.
 */
function nothingRan(failure: ApiError): boolean {
  const wasRefused = failure.status < 500 || failure.headers['x-should-retry'] === 'false';
  return wasRefused || failure.code === 'upstream_unreachable';
}
