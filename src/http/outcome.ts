import type { KeyOwner } from '../backend/failures.ts';
import type { ApiError } from '../core/errors.ts';
import type { Translator } from '../core/translator.ts';
import type { Outcome } from '../store/store.ts';
import type { Usage } from '../types/contract.ts';

export interface OutcomeOptions {
  readonly completedAtMs: number;
  /** Whose key the backend judges: the caller's, or the gateway's own. */
  readonly keyOwner: KeyOwner;
  /** By arithmetic, for when the backend has reported no usage. */
  readonly estimateUsage: () => Usage;
}

/** What ends how: the table of the contract, section 6. `discard` takes the record back. */
export function outcomeOf(translator: Translator, options: OutcomeOptions): Outcome | 'discard' {
  const { failure } = translator;
  const noOutput = translator.outputLength === 0 && translator.response.output.length === 0;
  if (failure === null) {
    return { ...ending('succeeded'), incompleteReason: translator.response.incomplete_details?.reason ?? null };
  }
  if (failure.code === 'request_cancelled' || failure.code === 'client_disconnected') {
    return { ...ending('cancelled'), errorCode: failure.code };
  }
  if (noOutput && options.keyOwner === 'caller' && (failure.status === 401 || failure.status === 403)) return 'discard';
  if (!noOutput || failure.code === 'gateway_interrupted') return { ...ending('failed'), errorCode: failure.code };
  return {
    ...ending('failed'),
    errorCode: failure.code,
    usage: translator.usage,
    usageEstimated: false,
    freesIdempotencyKey: nothingRan(failure),
  };

  function ending(status: Outcome['status']): Outcome {
    return {
      status,
      completedAtMs: options.completedAtMs,
      usage: translator.usage ?? options.estimateUsage(),
      usageEstimated: translator.usage === null,
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
