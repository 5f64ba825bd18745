import type { ChatBody } from '../core/encoded-chat.ts';
import {
  asksForCompaction,
  planCompaction,
  planCompactionOnTheWay,
  type CompactionOptions,
  type CompactionPlan,
} from '../core/compaction/compaction.ts';
import type { InputEstimator } from '../core/tokens/estimate.ts';
import { inputSizeOf } from '../core/tokens/input-size.ts';
import { tooMuch } from '../core/reply/event-log.ts';
import { toChatRequest, type Translation } from '../core/request/request.ts';
import { summaryOf } from '../core/compaction/summary.ts';
import type { Translator } from '../core/reply/translator.ts';
import { compactThresholdOf } from '../core/request/kept-input.ts';
import type { CreateResponse } from '../contract/types.ts';
import type { ModelMedia } from '../contract/settings-types.ts';
import type { Route } from '../core/routes.ts';
import type { PlannedCompaction, PlannedLoad } from './plan.ts';

export interface Compaction {
  readonly chat: ChatBody;
  readonly route: Route;
  readonly summary: Translator;
  readonly isAll: boolean;
  /** Throws ApiError if the summary cannot be used. */
  readonly finish: () => Compacted;
}

export interface Compacted {
  readonly encryptedContent: string;
  /** Makes the request behind the summary; absent if only the summary is asked for. */
  readonly next: (() => ChatBody | Promise<ChatBody>) | undefined;
}

export interface MediaOption {
  /** What the operator says of the media of the model that answers. */
  readonly media: ModelMedia | undefined;
}

/** Whether the request asks for a compaction, at once or beyond a threshold. */
export function mayCompact(request: CreateResponse): boolean {
  return asksForCompaction(request) || compactThresholdOf(request) !== undefined;
}

/** Returns the compaction that this request needs; undefined for most requests. */
export function compactionFor(
  request: CreateResponse,
  translation: Translation,
  options: CompactionOptions & MediaOption & { readonly estimator: InputEstimator; readonly caller: string },
): CompactionPlan | undefined {
  if (asksForCompaction(request)) return planCompaction(request, options);
  const threshold = compactThresholdOf(request);
  if (threshold === undefined) return undefined;
  const { chat } = translation;
  const { estimator, caller } = options;
  const inputSize = inputSizeOf(chat, options.media);
  const isTooLong = estimator.estimateInput({ model: chat.model, caller, inputSize }) > threshold;
  return isTooLong ? planCompactionOnTheWay(request, threshold, options) : undefined;
}

/** Returns what the plan needs. The summary counts as output, since its size is not known yet. */
export function loadOf(
  { chat, resume }: CompactionPlan,
  { model, max_output_tokens: forAnswer }: CreateResponse,
  options: CompactionOptions & MediaOption,
): PlannedLoad {
  const { compactionModel, compactionMaxOutputTokens: forSummary, models, media } = options;
  const size = inputSizeOf(chat, models.present?.find(compactionModel ?? model, chat.model)?.media);
  if (resume === undefined) return { inputSize: size, maxOutputTokens: forSummary, choices: 1 };
  const rest = inputSizeOf(toChatRequest(resume(''), { ...options, openCompaction: () => '' }).chat, media);
  return {
    inputSize: {
      ...rest,
      ...size,
      textBytes: size.textBytes + rest.textBytes,
      mediaTokens: size.mediaTokens + rest.mediaTokens,
    },
    // Both the summary and the answer may be as long as the longer limit.
    maxOutputTokens: forAnswer === undefined ? null : Math.max(forAnswer, forSummary),
    choices: 2,
  };
}

export interface CompactionParts {
  readonly summary: Translator;
  /** Returns undefined for a text that is too long. */
  readonly seal: (summary: string) => string | undefined;
}

/** Returns the compaction that carries out the plan. */
export function beginCompaction(
  { chat, route, resume }: PlannedCompaction,
  { summary, seal }: CompactionParts,
): Compaction {
  return {
    chat,
    route,
    summary,
    isAll: resume === undefined,
    finish() {
      const encryptedContent = seal(summaryOf(summary));
      if (encryptedContent === undefined) throw tooMuch();
      return { encryptedContent, next: resume && (() => resume(encryptedContent)) };
    },
  };
}
