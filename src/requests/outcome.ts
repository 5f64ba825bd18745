import type { KeyOwner } from '../backend/request-headers.ts';
import { isCancel, type ApiError, type ErrorCode } from '../core/errors.ts';
import type { IncompleteReason, Outcome } from '../core/books/store.ts';
import { isWhole, readWithoutCache, withOutputGap, type Reported } from '../core/reply/usage.ts';
import { fillGaps } from '../core/tokens/estimate.ts';
import type { Usage } from '../contract/types.ts';

export interface Ending {
  readonly failure: ApiError | null;
  readonly incompleteReason: IncompleteReason | null;
  readonly reported: Reported;
  /** Counts UTF-16 code units. */
  readonly outputLength: number;
  /** Whether the client may have received output of the model. */
  readonly hasOutput: boolean;
  /** The finish reason of the backend, if nobody knows what it means. */
  readonly unknownReason?: string | undefined;
}

export interface OutcomeOptions {
  readonly completedAtMs: number;
  readonly keyOwner: KeyOwner;
  /** Whether a backend was asked. What never left the gateway costs nothing. */
  readonly wasSent: boolean;
  readonly upstream: string | null;
  /** Whether the backend has never accepted the key of the caller. */
  readonly isStranger: boolean;
  readonly estimateUsage: () => Usage;
  /** In millionths of the currency; null if the model has no price. */
  readonly costOf: (usage: Usage, answer: Reported) => number | null;
  /** How the request goes on from the one before it; null where nothing is known. */
  readonly promptTurn: Outcome['promptTurn'];
}

/** Returns `discard` if the request leaves no record (src/docs/guarantees.md). */
export function outcomeOf(ending: Ending, options: OutcomeOptions): Outcome | 'discard' {
  const { failure, hasOutput } = ending;
  // Some backends send zeros, or no more than the input.
  const isUncounted = ending.outputLength > 0 && ending.reported.usage?.output_tokens === 0;
  const reported = isUncounted ? withOutputGap(ending.reported) : ending.reported;
  if (failure === null) return { ...used('succeeded'), incompleteReason: ending.incompleteReason };
  // Made-up keys must not fill the store, whatever the backend says in the place of a 401.
  if (options.isStranger && !hasOutput) return 'discard';
  if (isCancel(failure)) {
    return { ...used('cancelled'), errorCode: failure.code };
  }
  if (!hasOutput && options.keyOwner === 'caller' && (failure.status === 401 || failure.status === 403)) {
    return 'discard';
  }
  if (hasOutput || failure.code === 'gateway_interrupted') return { ...used('failed'), errorCode: failure.code };
  return {
    ...used('failed'),
    errorCode: failure.code,
    usage: isWhole(reported) ? reported.usage : null,
    usageEstimated: false,
    costMicro: null,
    savedMicro: null,
    freesIdempotencyKey: nothingRan(failure),
  };

  function used(status: Outcome['status']): Outcome {
    const isKnown = isWhole(reported);
    const estimated = options.wasSent ? fillGaps(reported, options.estimateUsage()) : null;
    const usage = isKnown ? reported.usage : estimated;
    const costMicro = usage && options.costOf(usage, reported);
    const withoutCache = usage && costMicro && options.costOf(readWithoutCache(usage), reported);
    return {
      status,
      completedAtMs: options.completedAtMs,
      usage,
      usageEstimated: !isKnown && usage !== null,
      costMicro,
      savedMicro: costMicro === null || withoutCache === null ? null : Math.max(0, withoutCache - costMicro),
      promptTurn: options.promptTurn,
      incompleteReason: null,
      errorCode: null,
      upstream: options.upstream,
      freesIdempotencyKey: false,
    };
  }
}

/** No backend was asked, or none heard of the request. */
const NOT_SENT: ReadonlySet<ErrorCode> = new Set(['upstream_unreachable', 'no_backend_available', 'server_overloaded']);

/** A wrong key or address in the settings is a 502 for the caller with `x-should-retry: false`. */
function nothingRan(failure: ApiError): boolean {
  const wasRefused = failure.status < 500 || failure.headers['x-should-retry'] === 'false';
  return wasRefused || NOT_SENT.has(failure.code);
}
