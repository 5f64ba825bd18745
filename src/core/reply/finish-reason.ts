import { ApiError } from '../errors.ts';

/** What a finish reason says of an answer, from the best to the worst. */
const ENDS = ['stopped', 'called', 'unknown', 'max_output_tokens', 'content_filter', 'failed'] as const;

export type End = (typeof ENDS)[number];

/**
 * Written without separators. They are the words of OpenAI, vLLM, TGI, LM Studio, Anthropic, Cohere,
 * Gemini (`FinishReason`), Bedrock (`StopReason`), DeepSeek, Mistral and Zhipu.
 */
const WORDS: ReadonlyMap<string, End> = new Map([
  ...wordsOf('stopped', 'stop stopsequence stopstringfound eos eostoken eosfound endoftext endturn complete completed'),
  ...wordsOf('stopped', 'done normal'),
  ...wordsOf('called', 'toolcalls toolcall tooluse functioncall functioncalls'),
  ...wordsOf('max_output_tokens', 'length maxtokens maxoutputtokens maxcompletiontokens maxlen maxcontext modellength'),
  ...wordsOf('max_output_tokens', 'maximumtokens tokenlimit modelcontextwindowexceeded contextlengthexceeded'),
  ...wordsOf('max_output_tokens', 'contextlengthreached maxpredictedtokensreached truncated'),
  ...wordsOf(
    'content_filter',
    'contentfilter contentfiltered sensitive safety recitation blocklist blocked errortoxic',
  ),
  ...wordsOf('content_filter', 'prohibitedcontent spii guardrail guardrailintervened refusal moderation modelarmor'),
  ...wordsOf('failed', 'error failed abort aborted cancel cancelled canceled timeout timelimit incomplete interrupted'),
  ...wordsOf('failed', 'insufficientsystemresource networkerror malformed missingthoughtsignature repetition'),
  ...wordsOf('failed', 'unexpectedtoolcall toomanytoolcalls userstopped modelunloaded'),
]);

function wordsOf(end: End, words: string): [string, End][] {
  return words.split(' ').map((word) => [word, end]);
}

/** In UTF-16 code units. */
const MAX_REASON = 128;
/** Of an enumeration: `FinishReason.STOP`, `FINISH_REASON_STOP`. */
const PREFIX = /^\w*reason[\W_]+/;

/**
 * Returns what the reason means, in lower case and with any separators. A longer one
 * (`function_call_filter: malformed_function_call`) is as bad as the worst of its parts and words.
 */
export function endOf(finishReason: string): End {
  const reason = finishReason.slice(0, MAX_REASON).replace(PREFIX, '');
  const known = WORDS.get(squashed(reason));
  if (known !== undefined) return known;
  const parts = [...reason.split(/[^\w-]+/), ...reason.split(/[\W_]+/)].filter(Boolean);
  return parts.map((part) => WORDS.get(squashed(part)) ?? 'unknown').reduce(worseOf, 'unknown');
}

function squashed(reason: string): string {
  return reason.replaceAll(/[\W_]+/g, '');
}

export function worseOf(one: End, other: End): End {
  return ENDS.indexOf(one) < ENDS.indexOf(other) ? other : one;
}

/** `unknown` is for the reader of the answer to judge: it has ended well only if it is whole. */
export type Finish =
  | { readonly kind: 'completed' | 'unknown' }
  | { readonly kind: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly kind: 'failed'; readonly error: ApiError };

/**
 * Returns how an answer with these ends of its choices has ended, which is as well as the worst of
 * them. `complete` excuses a missing reason, because `[DONE]` came.
 */
export function finishOf(ends: readonly (End | undefined)[], complete: boolean): Finish {
  if (!complete && (ends.length === 0 || ends.includes(undefined))) return { kind: 'failed', error: brokenOff() };
  const worst = ends.map((end) => end ?? 'stopped').reduce(worseOf, 'stopped');
  switch (worst) {
    case 'stopped':
    case 'called':
      return { kind: 'completed' };
    case 'unknown':
      return { kind: 'unknown' };
    case 'max_output_tokens':
    case 'content_filter':
      return { kind: 'incomplete', reason: worst };
    case 'failed':
      return { kind: 'failed', error: givenUp() };
  }
}

/** Whether the answer only broke off. After the finish reason such an error loses nothing. */
export function isCutOff({ code }: ApiError): boolean {
  return code === 'upstream_error' || code === 'upstream_timeout';
}

/** Returns the failure of an answer that has ended without a finish reason. */
export function brokenOff(): ApiError {
  return upstreamError('The backend ended its answer before it was complete.');
}

/** Returns the failure of an answer whose finish reason says that it is not whole. */
export function givenUp(): ApiError {
  return upstreamError('The backend gave up on its answer.');
}

function upstreamError(message: string): ApiError {
  return new ApiError('upstream_error', { message });
}
