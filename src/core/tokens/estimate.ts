import type { Usage } from '../../contract/types.ts';
import { lastPartOf, plainNameOf } from '../model-names.ts';
import type { Reported } from '../reply/usage.ts';
import type { InputSize } from './input-size.ts';
import { createLearnt } from './learnt.ts';

export interface InputEstimator {
  estimateInput(call: ModelInput): number;
}

/** A tokenizer fits only one vocabulary and is slow on hostile input. */
export interface TokenEstimator extends InputEstimator {
  /** Returns what to reserve, which is not less for a caller whose own requests were few tokens. */
  reserveInput(call: ModelInput): number;
  /** Estimates usage that the backend did not report. `inputTokens` were reserved before. */
  estimateUsage(call: ModelCall, inputTokens?: number): Usage;
  learn(call: ModelCall, usage: Usage): void;
}

export interface ModelInput {
  readonly model: string;
  /** What one caller teaches has little weight for the others. */
  readonly caller: string;
  readonly inputSize: InputSize;
}

export interface ModelCall extends ModelInput {
  /** Is in UTF-16 code units. */
  readonly outputLength: number;
  /** Null without a limit. */
  readonly allowedOutputTokens: number | null;
}

/** The lower limit holds for plain text: nobody can teach that a long one is nearly free. */
const TOKENS_PER_UNIT = { first: 0.25, min: 0.1, max: 2 };
/** Most answers of models that think are within a factor of ten of it. */
const THOUGHTS = { first: 1000, min: 1, max: 1_000_000 };
/** A caller that has only had answers of few thoughts may leave one of many. */
const MIN_PART_OF_MIX = 0.1;
/** What media have counted, as a part of what they were thought to count at most. */
const PART_OF_MEDIA = { first: 1, min: 0.01, max: 100 };
/** Below this length the chat template outweighs the text. */
const MIN_OBSERVED_LENGTH = 200;

/** Creates an estimator that has learnt nothing. */
export function createTokenEstimator(): TokenEstimator {
  const input = createLearnt(TOKENS_PER_UNIT);
  const output = createLearnt(TOKENS_PER_UNIT);
  const thoughts = createLearnt(THOUGHTS);
  const media = createLearnt(PART_OF_MEDIA);

  function estimateInput({ model, caller, inputSize }: ModelInput): number {
    const name = learntNameOf(model);
    return tokensOf(inputSize, input.valueFor(name, caller), media.valueFor(name, caller));
  }

  function estimateWords({ model, caller, outputLength }: ModelCall): number {
    return Math.ceil(outputLength * output.valueFor(learntNameOf(model), caller));
  }

  return {
    estimateInput,
    reserveInput({ model, caller, inputSize }) {
      const name = learntNameOf(model);
      return tokensOf(
        inputSize,
        Math.max(TOKENS_PER_UNIT.first, input.largestFor(name, caller)),
        Math.max(PART_OF_MEDIA.first, media.largestFor(name, caller)),
      );
    },
    estimateUsage(call, inputTokens = estimateInput(call)) {
      const { caller, allowedOutputTokens } = call;
      const model = learntNameOf(call.model);
      const words = estimateWords(call);
      const unsent = thoughts.knows(model) ? Math.round(thoughts.ownOrPartFor(model, caller, MIN_PART_OF_MIX)) : 0;
      const outputTokens = Math.min(words + unsent, allowedOutputTokens ?? Infinity);
      return {
        input_tokens: inputTokens,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: outputTokens,
        output_tokens_details: { reasoning_tokens: Math.max(0, outputTokens - words) },
        total_tokens: inputTokens + outputTokens,
      };
    },
    learn(call, usage) {
      const { caller, inputSize, outputLength } = call;
      const model = learntNameOf(call.model);
      const { textBytes, mediaTokens } = inputSize;
      if (mediaTokens > 0) {
        // The rest is for the media, unless they are too little beside the text to say anything.
        const words = textBytes * input.valueFor(model, caller);
        if (usage.input_tokens > words && mediaTokens > words) {
          media.observe(model, caller, (usage.input_tokens - words) / mediaTokens);
        }
      } else if (textBytes >= MIN_OBSERVED_LENGTH && usage.input_tokens > 0) {
        input.observe(model, caller, usage.input_tokens / textBytes);
      }
      const { reasoning_tokens: thought } = usage.output_tokens_details;
      // Some backends send the thoughts that they count, and some do not.
      const unsent = usage.output_tokens - estimateWords(call);
      if (thought > 0 && unsent > thought / 2) thoughts.observe(model, caller, unsent);
      if (thought > 0 || outputLength < MIN_OBSERVED_LENGTH || usage.output_tokens <= 0) return;
      output.observe(model, caller, usage.output_tokens / outputLength);
    },
  };
}

function tokensOf({ textBytes, mediaTokens }: InputSize, tokensPerByte: number, partOfMedia: number): number {
  const tokens = Math.ceil(textBytes * tokensPerByte) + Math.ceil(mediaTokens * partOfMedia);
  return Math.min(tokens, Number.MAX_SAFE_INTEGER);
}

/** Otherwise a model would be unknown under another name, and what it thinks would cost nothing. */
function learntNameOf(model: string): string {
  return plainNameOf(lastPartOf(model));
}

/**
 * Returns the usage that was reported, and of the parts that are missing or not all the estimate if
 * it is larger.
 */
export function fillGaps({ usage, gaps }: Reported, estimate: Usage): Usage {
  if (usage === null) return estimate;
  const input = gaps.includes('input') && estimate.input_tokens > usage.input_tokens ? estimate : usage;
  const output = gaps.includes('output') && estimate.output_tokens > usage.output_tokens ? estimate : usage;
  return {
    input_tokens: input.input_tokens,
    input_tokens_details: input.input_tokens_details,
    output_tokens: output.output_tokens,
    output_tokens_details: output.output_tokens_details,
    total_tokens: input.input_tokens + output.output_tokens,
  };
}
