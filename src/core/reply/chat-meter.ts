import type { ChunkOrText } from '../chat.ts';
import { choicesOf, deltaOf, finishReasonOf } from './chunk.ts';
import { ApiError } from '../errors.ts';
import { outputLengthOf } from './output-length.ts';
import { NOTHING_REPORTED, readReported, withOutputGap, type Reported } from './usage.ts';
import { isCutOff, readFinishReason, type Finish } from './finish-reason.ts';
import type { Writable } from '../writable.ts';

export interface ChatMeter {
  feed(chunk: ChunkOrText): void;
  /** Counts output that was cut before it could be read, in UTF-16 code units. */
  addUnread(length: number): void;
  /** `done` says whether the answer had `[DONE]`, or was a whole completion. */
  end(done: boolean): void;
  fail(error: ApiError): void;
  readonly failure: ApiError | null;
  readonly incompleteReason: 'max_output_tokens' | 'content_filter' | null;
  readonly reported: Reported;
  /** UTF-16 code units of the output in all choices. */
  readonly outputLength: number;
  readonly hasOutput: boolean;
  readonly ended: boolean;
  /** Whether all choices that came have their finish reason, so that only usage is likely to follow. */
  readonly finishing: boolean;
}

/** Backends are not trusted, and each choice takes memory. */
const MAX_CHOICES = 1024;

/** Measures a relayed answer with this many choices. The first `end` or `fail` counts. */
export function createChatMeter(expectedChoices: number): ChatMeter {
  const finishReasons = new Map<number, string | undefined>();
  let finished = 0;

  const meter: Writable<ChatMeter> = {
    feed(chunk) {
      if (meter.ended) return;
      if (typeof chunk === 'string') {
        grow(chunk.length);
        return;
      }
      const choices = choicesOf(chunk);
      for (const { index, choice } of choices) {
        meter.reported = readReported(meter.reported, choice, undefined);
        note(index, finishReasonOf(choice));
        grow(outputLengthOf(deltaOf(choice)));
      }
      const reported = readReported(meter.reported, chunk, undefined);
      // vLLM can count one choice in each chunk. All are counted in the last chunk, which has none.
      const isOfSome = choices.length > 0 && choices.length < finishReasons.size;
      meter.reported = isOfSome && reported.usage !== meter.reported.usage ? withOutputGap(reported) : reported;
    },
    addUnread(length) {
      if (!meter.ended) grow(length);
    },
    end(done) {
      if (!meter.ended) conclude(finishOf(done));
    },
    fail(error) {
      if (meter.ended) return;
      conclude(isCutOff(error) && finished >= expectedChoices ? finishOf(true) : { kind: 'failed', error });
    },
    failure: null,
    incompleteReason: null,
    reported: NOTHING_REPORTED,
    outputLength: 0,
    hasOutput: false,
    ended: false,
    finishing: false,
  };
  return meter;

  function conclude(finish: Finish): void {
    meter.ended = true;
    if (finish.kind === 'failed') meter.failure = finish.error;
    if (finish.kind === 'incomplete') meter.incompleteReason = finish.reason;
  }

  function note(index: number, reason: string | undefined): void {
    const known = finishReasons.get(index);
    if (finishReasons.size >= MAX_CHOICES && !finishReasons.has(index)) return;
    finishReasons.set(index, reason ?? known);
    if (reason !== undefined && known === undefined) finished += 1;
    // Some backends send fewer choices than were asked for.
    meter.finishing = finished === finishReasons.size;
  }

  function grow(length: number): void {
    meter.outputLength += length;
    if (length > 0) meter.hasOutput = true;
  }

  function finishOf(done: boolean): Finish {
    if (finishReasons.size === 0) {
      const message = 'The backend sent no answer.';
      return { kind: 'failed', error: new ApiError('upstream_invalid_response', { message }) };
    }
    const finishes = [...finishReasons.values()].map((reason) => readFinishReason(reason, done));
    const worst = finishes.find(({ kind }) => kind === 'failed') ?? finishes.find(({ kind }) => kind === 'incomplete');
    return worst ?? { kind: 'completed' };
  }
}
