/** Whether a request comes to a compaction, and what becomes of the summary that the backend writes for it. */

import type { ChatRequest } from '../core/chat.ts';
import {
  asksForCompaction,
  planCompaction,
  planCompactionOnTheWay,
  type CompactionOptions,
  type CompactionPlan,
} from '../core/compaction/compaction.ts';
import { inputSizeOf, type InputSize, type TokenEstimator } from '../core/tokens/estimate.ts';
import { tooMuch } from '../core/reply/event-log.ts';
import { toChatRequest, type Translation } from '../core/request/request.ts';
import { summaryOf } from '../core/compaction/summary.ts';
import type { Translator } from '../core/reply/translator.ts';
import { compactThresholdOf } from '../core/request/kept-input.ts';
import type { CreateResponse } from '../contract/types.ts';
import type { Plan } from './prepare.ts';

/** The exchange that comes before the answer, or in its place. */
export interface Compaction {
  /** What the backend is asked for the summary. */
  readonly chat: ChatRequest;
  /** Reads the summary; its events are for nobody. */
  readonly summary: Translator;
  /** Whether nothing comes after it. */
  readonly isAll: boolean;
  /** To be called when the summary is over. Throws the ApiError of one that cannot be used. */
  readonly finish: () => Compacted;
}

export interface Compacted {
  readonly encryptedContent: string;
  /** What the backend is asked then; undefined when the compaction was all that was asked for. */
  readonly next: ChatRequest | undefined;
}

/** The compaction that this request comes to; undefined for most. */
export function compactionFor(
  request: CreateResponse,
  translation: Translation,
  options: CompactionOptions & { readonly estimator: TokenEstimator },
): CompactionPlan | undefined {
  if (asksForCompaction(request)) return planCompaction(request, options);
  const threshold = compactThresholdOf(request);
  if (threshold === undefined) return undefined;
  const { chat } = translation;
  const isTooLong = options.estimator.estimateInput(chat.model, sizeOfChat(chat)) > threshold;
  return isTooLong ? planCompactionOnTheWay(request, threshold, options) : undefined;
}

/** Whether what is told to the backend is less than what the client has sent. */
export function holdsCompaction({ input }: CreateResponse): boolean {
  return typeof input !== 'string' && input.some(({ type }) => type === 'compaction');
}

/** What a chat request weighs by itself, whatever the request was that it was made of. */
export function sizeOfChat({ messages, tools }: ChatRequest): InputSize {
  return inputSizeOf({ messages }, Buffer.byteLength(JSON.stringify({ messages, tools })));
}

/** What it takes to carry the plan out. The summary itself, which nobody knows yet, is not counted as input. */
export function loadOf(
  { chat, resume }: CompactionPlan,
  { max_output_tokens: forAnswer }: CreateResponse,
  options: CompactionOptions,
): Pick<Plan, 'inputSize' | 'maxOutputTokens' | 'choices'> {
  const { compactionMaxOutputTokens: forSummary } = options;
  const size = sizeOfChat(chat);
  if (resume === undefined) return { inputSize: size, maxOutputTokens: forSummary, choices: 1 };
  const rest = sizeOfChat(toChatRequest(resume(''), { ...options, openCompaction: () => '' }).chat);
  return {
    inputSize: { textBytes: size.textBytes + rest.textBytes, media: size.media + rest.media },
    // The summary and the answer, each as long as the longer one may be.
    maxOutputTokens: forAnswer === undefined ? null : Math.max(forAnswer, forSummary),
    choices: 2,
  };
}

export interface CompactionParts {
  /** Those of the plan. */
  readonly options: CompactionOptions;
  readonly summary: Translator;
  /** Undefined for a text that is too long. */
  readonly seal: (summary: string) => string | undefined;
}

/** What carries the plan out. */
export function beginCompaction({ chat, resume }: CompactionPlan, parts: CompactionParts): Compaction {
  const { options, summary, seal } = parts;
  return {
    chat,
    summary,
    isAll: resume === undefined,
    finish() {
      const encryptedContent = seal(summaryOf(summary));
      if (encryptedContent === undefined) throw tooMuch();
      return { encryptedContent, next: resume && toChatRequest(resume(encryptedContent), options).chat };
    },
  };
}
