import type { Usage } from '../../contract/types.ts';
import { isObject, listOf } from '../json.ts';

/** What an input weighs before anybody has counted its tokens. */
export interface InputSize {
  /** UTF-8 bytes of the request without its images and files. */
  readonly textBytes: number;
  readonly media: number;
}

/** Tokens by arithmetic (contract, section 7): a tokenizer fits one vocabulary, and stands still on hostile input. */
export interface TokenEstimator {
  estimateInput(model: string, size: InputSize): number;
  /** `outputLength` in UTF-16 code units. */
  estimateOutput(model: string, outputLength: number): number;
  /** Moves the model's factors towards what the backend counted. */
  learn(model: string, size: InputSize, outputLength: number, usage: Usage): void;
}

const FIRST_FACTOR = 0.25;
/** Of an image or a file, whatever is in it. */
export const MEDIA_TOKENS = 1000;
/** The share that a new observation has in the factor. */
const WEIGHT = 0.1;
const MIN_FACTOR = 0.02;
const MAX_FACTOR = 2;
const MAX_MODELS = 1000;
/** Below this an observation says more of the chat template than of the text. */
const MIN_OBSERVED_LENGTH = 200;

/** The size of a chat request whose body had so many bytes, with its images and files counted instead of weighed. */
export function inputSizeOf({ messages }: { readonly messages?: unknown }, bodyBytes: number): InputSize {
  let media = 0;
  let mediaBytes = 0;
  for (const bytes of listOf(messages).flatMap(mediaSizesOf)) {
    media += 1;
    mediaBytes += bytes;
  }
  return { textBytes: Math.max(0, bodyBytes - mediaBytes), media };
}

/** Parts that are words. What else a message can hold (images, sounds, files) differs from backend to backend. */
const TEXT_PARTS = new Set<unknown>(['text', 'thinking', 'reasoning', 'refusal']);

/** The lengths of the images and files of a message, which are base64 or a URL, and so one byte a character. */
function mediaSizesOf(message: unknown): number[] {
  const content = isObject(message) ? message['content'] : undefined;
  return listOf(content)
    .filter(isObject)
    .filter((part) => !TEXT_PARTS.has(part['type']))
    .map(({ type: _type, ...fields }) => longestString(fields, 0));
}

/** `image_url.url`, `input_audio.data`, `file.file_data` and their like are the longest that their part has. */
function longestString(value: unknown, depth: number): number {
  if (typeof value === 'string') return value.length;
  if (!isObject(value) || depth > 1) return 0;
  return Object.values(value).reduce<number>((longest, inner) => Math.max(longest, longestString(inner, depth + 1)), 0);
}

/** The factors start from a common guess and are kept for a bounded number of models. */
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
      // An image counts differently at every backend, so such an input teaches nothing of text.
      if (media === 0) observe(inputFactors, model, textBytes, usage.input_tokens);
      // Thoughts are counted by some backends that do not send them, or send a summary: such an answer teaches nothing.
      const thought = usage.output_tokens_details.reasoning_tokens > 0;
      if (!thought) observe(outputFactors, model, outputLength, usage.output_tokens);
    },
  };
}

/** What a request probably used, of which the backend has not said it. `outputLength` in UTF-16 code units. */
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
