import type { Usage } from '../../contract/types.ts';
import { isObject, listOf } from '../json.ts';

export interface InputSize {
  /** Counts UTF-8 bytes, without images and files. */
  readonly textBytes: number;
  readonly media: number;
}

/** A tokenizer fits only one vocabulary and is slow on hostile input. */
export interface TokenEstimator {
  estimateInput(model: string, size: InputSize): number;
  /** `outputLength` is in UTF-16 code units. */
  estimateOutput(model: string, outputLength: number): number;
  learn(model: string, size: InputSize, outputLength: number, usage: Usage): void;
}

const FIRST_FACTOR = 0.25;
export const MEDIA_TOKENS = 1000;
const WEIGHT = 0.1;
const MIN_FACTOR = 0.02;
const MAX_FACTOR = 2;
const MAX_MODELS = 1000;
/** Below this length the chat template outweighs the text. */
const MIN_OBSERVED_LENGTH = 200;

/** Returns the size of a chat request, without the bytes of its images and files. */
export function inputSizeOf({ messages }: { readonly messages?: unknown }, bodyBytes: number): InputSize {
  let media = 0;
  let mediaBytes = 0;
  for (const bytes of listOf(messages).flatMap(mediaSizesOf)) {
    media += 1;
    mediaBytes += bytes;
  }
  return { textBytes: Math.max(0, bodyBytes - mediaBytes), media };
}

/** The other kinds of parts differ from backend to backend. */
const TEXT_PARTS = new Set<unknown>(['text', 'thinking', 'reasoning', 'refusal']);

/** Images and files are base64 or URLs, so a character is a byte. */
function mediaSizesOf(message: unknown): number[] {
  const content = isObject(message) ? message['content'] : undefined;
  return listOf(content)
    .filter(isObject)
    .filter((part) => !TEXT_PARTS.has(part['type']))
    .map(({ type: _type, ...fields }) => longestString(fields, 0));
}

/** The data or URL of a part is its longest string. */
function longestString(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.length;
  if (!isObject(value) || depth > 1) return 0;
  return Object.values(value).reduce<number>((longest, inner) => Math.max(longest, longestString(inner, depth + 1)), 0);
}

/** Creates an estimator that keeps factors for a limited number of models. */
export function createTokenEstimator(): TokenEstimator {
  const inputFactors = new Map<string, number>();
  const outputFactors = new Map<string, number>();
  return {
    estimateInput(model, { textBytes, media }) {
      return Math.ceil(textBytes * (inputFactors.get(model) ?? FIRST_FACTOR)) + media * MEDIA_TOKENS;
    },
    estimateOutput(model, outputLength) {
      return Math.ceil(outputLength * (outputFactors.get(model) ?? FIRST_FACTOR));
    },
    learn(model, { textBytes, media }, outputLength, usage) {
      // Backends count images differently, so such an input says nothing about text.
      if (media === 0) observe(inputFactors, model, textBytes, usage.input_tokens);
      // Some backends count thoughts that they do not send, so such an answer says nothing either.
      const thought = usage.output_tokens_details.reasoning_tokens > 0;
      if (!thought) observe(outputFactors, model, outputLength, usage.output_tokens);
    },
  };
}

/** Estimates usage that the backend did not report. `outputLength` is in UTF-16 code units. */
export function estimateUsage(
  estimator: TokenEstimator,
  { backendModel, inputSize }: { readonly backendModel: string; readonly inputSize: InputSize },
  outputLength: number,
): Usage {
  const inputTokens = estimator.estimateInput(backendModel, inputSize);
  const outputTokens = estimator.estimateOutput(backendModel, outputLength);
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

function observe(factors: Map<string, number>, model: string, length: number, tokens: number): void {
  if (length < MIN_OBSERVED_LENGTH || tokens <= 0) return;
  const seen = Math.min(MAX_FACTOR, Math.max(MIN_FACTOR, tokens / length));
  const before = factors.get(model) ?? seen;
  if (!factors.has(model) && factors.size >= MAX_MODELS) {
    const oldest = factors.keys().next();
    if (oldest.done !== true) factors.delete(oldest.value);
  }
  factors.set(model, before + (seen - before) * WEIGHT);
}
