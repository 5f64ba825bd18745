import type { Usage } from '../types/contract.ts';
import type { ChatMessage, ChatPart, ChatRequest } from './chat.ts';
import { unreachable } from './unreachable.ts';

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
const MEDIA_TOKENS = 1000;
/** The share that a new observation has in the factor. */
const WEIGHT = 0.1;
const MIN_FACTOR = 0.02;
const MAX_FACTOR = 2;
const MAX_MODELS = 1000;
/** Below this an observation says more of the chat template than of the text. */
const MIN_OBSERVED_LENGTH = 200;

/** The size of a request whose body had so many bytes, with its images and files counted instead of weighed. */
export function inputSizeOf(chat: ChatRequest, bodyBytes: number): InputSize {
  let media = 0;
  let mediaBytes = 0;
  for (const bytes of chat.messages.flatMap(mediaSizesOf)) {
    media += 1;
    mediaBytes += bytes;
  }
  return { textBytes: Math.max(0, bodyBytes - mediaBytes), media };
}

/** The lengths of the images and files of a message, which are base64 or a URL, and so one byte a character. */
function mediaSizesOf(message: ChatMessage): number[] {
  if (message.role !== 'user' || typeof message.content === 'string') return [];
  return message.content.filter((part) => part.type !== 'text').map(mediaSizeOf);
}

function mediaSizeOf(part: Exclude<ChatPart, { type: 'text' }>): number {
  switch (part.type) {
    case 'image_url':
      return part.image_url.url.length;
    case 'audio_url':
      return part.audio_url.url.length;
    case 'input_audio':
      return (typeof part.input_audio === 'string' ? part.input_audio : part.input_audio.data).length;
    case 'file':
      return part.file.file_data.length;
    case 'document_url':
      return part.document_url.length;
    default:
      return unreachable(part);
  }
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
      // The thoughts of many models are counted but not sent.
      const visible = usage.output_tokens - usage.output_tokens_details.reasoning_tokens;
      observe(outputFactors, model, outputLength, visible);
    },
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
