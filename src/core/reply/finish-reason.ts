import { ApiError } from '../errors.ts';

export type Finish =
  | { readonly kind: 'completed' }
  | { readonly kind: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly kind: 'failed'; readonly error: ApiError };

/** Returns what the reason means. `complete` excuses a missing reason, because `[DONE]` came. */
export function readFinishReason(finishReason: string | undefined, complete: boolean): Finish {
  switch (finishReason) {
    case undefined:
      return complete ? { kind: 'completed' } : { kind: 'failed', error: brokenOff() };
    case 'length':
    case 'model_length':
    case 'max_tokens':
      return { kind: 'incomplete', reason: 'max_output_tokens' };
    case 'content_filter':
      return { kind: 'incomplete', reason: 'content_filter' };
    case 'error':
    case 'abort':
    case 'insufficient_system_resource':
      return { kind: 'failed', error: upstreamError('The backend gave up on its answer.') };
    default:
      return { kind: 'completed' };
  }
}

/** As `readFinishReason`, of all choices of an answer: the answer is as whole as the worst of them. */
export function readFinishReasons(reasons: readonly (string | undefined)[], complete: boolean): Finish {
  const finishes = (reasons.length === 0 ? [undefined] : reasons).map((reason) => readFinishReason(reason, complete));
  const ofKind = (wanted: Finish['kind']) => finishes.find(({ kind }) => kind === wanted);
  return ofKind('failed') ?? ofKind('incomplete') ?? { kind: 'completed' };
}

/** Whether the answer only broke off. After the finish reason such an error loses nothing. */
export function isCutOff({ code }: ApiError): boolean {
  return code === 'upstream_error' || code === 'upstream_timeout';
}

/** Returns the failure of an answer that has ended without a finish reason. */
export function brokenOff(): ApiError {
  return upstreamError('The backend ended its answer before it was complete.');
}

function upstreamError(message: string): ApiError {
  return new ApiError('upstream_error', { message });
}
