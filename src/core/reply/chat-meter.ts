import type { ChatChunk } from '../chat.ts';
import { choicesOf, deltaOf, finishReasonOf, MAX_CHOICES } from './chunk.ts';
import { ApiError } from '../errors.ts';
import { outputLengthOf } from './output-length.ts';
import { NOTHING_REPORTED, readReported, reportedOfChoices, withOutputGap, type Reported } from './usage.ts';
import { endOf, finishOf, givenUp, isCutOff, worseOf, type End, type Finish } from './finish-reason.ts';
import type { Writable } from '../writable.ts';

export interface ChatMeter {
  feed(chunk: ChatChunk): void;
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
  /** As `Translator` has it. Calls are not read here, so that any output makes such an answer whole. */
  readonly unknownReason: string | undefined;
}

interface KnownChoice {
  end: End | undefined;
  reported: Reported;
}

/** Measures a relayed answer with this many choices. The first `end` or `fail` counts. */
export function createChatMeter(expectedChoices: number): ChatMeter {
  const known = new Map<number, KnownChoice>();
  let finished = 0;

  const meter: Writable<ChatMeter> = {
    feed(chunk) {
      if (meter.ended) return;
      const choices = choicesOf(chunk);
      // vLLM and SGLang can count the one choice of a chunk beside it, and Moonshot counts each in itself.
      const isOfOne = choices.length === 1;
      for (const { index, choice } of choices) {
        readUsageOf(note(index, finishReasonOf(choice)), isOfOne ? chunk : choice, choice);
        grow(outputLengthOf(deltaOf(choice)));
      }
      if (!isOfOne) meter.reported = readReported(meter.reported, chunk, undefined);
    },
    addUnread(length) {
      if (!meter.ended) grow(length);
    },
    end(done) {
      if (!meter.ended) conclude(endingOf(done));
    },
    fail(error) {
      if (meter.ended) return;
      conclude(isCutOff(error) && finished >= expectedChoices ? endingOf(true) : { kind: 'failed', error });
    },
    failure: null,
    incompleteReason: null,
    reported: NOTHING_REPORTED,
    outputLength: 0,
    hasOutput: false,
    ended: false,
    finishing: false,
    unknownReason: undefined,
  };
  return meter;

  function conclude(finish: Finish): void {
    meter.ended = true;
    if (finish.kind === 'failed') meter.failure = finish.error;
    if (finish.kind === 'unknown' && !meter.hasOutput) meter.failure = givenUp();
    if (finish.kind === 'incomplete') meter.incompleteReason = finish.reason;
  }

  function note(index: number, reason: string | undefined): KnownChoice | undefined {
    const choice = known.get(index) ?? { end: undefined, reported: NOTHING_REPORTED };
    if (!known.has(index)) {
      if (known.size >= MAX_CHOICES) return undefined;
      known.set(index, choice);
      if (meter.reported.usage !== null) meter.reported = withOutputGap(meter.reported);
    }
    if (reason !== undefined) noteEnd(choice, reason);
    // Some backends send fewer choices than were asked for.
    meter.finishing = finished === known.size;
    return choice;
  }

  function noteEnd(choice: KnownChoice, reason: string): void {
    const end = endOf(reason);
    if (choice.end === undefined) finished += 1;
    choice.end = worseOf(choice.end ?? end, end);
    if (end === 'unknown') meter.unknownReason ??= reason;
  }

  function readUsageOf(of: KnownChoice | undefined, chunk: ChatChunk, choice: ChatChunk): void {
    const { usage } = meter.reported;
    meter.reported = readReported(meter.reported, chunk, choice);
    if (of === undefined || meter.reported.usage === usage) return;
    of.reported = meter.reported;
    // One answer that a backend splits into choices is counted once.
    if (known.size === 1 || expectedChoices === 1) return;
    const all = [...known.values()].map(({ reported }) => reported);
    meter.reported = { ...of.reported, ...reportedOfChoices(all) };
  }

  function grow(length: number): void {
    meter.outputLength += length;
    if (length > 0) meter.hasOutput = true;
  }

  function endingOf(done: boolean): Finish {
    if (known.size === 0) {
      const message = 'The backend sent no answer.';
      return { kind: 'failed', error: new ApiError('upstream_invalid_response', { message }) };
    }
    const ends = Array.from(known.values(), ({ end }) => end);
    // Some backends split one answer into choices, and end one of them (ericc-ch/copilot-api PR#81).
    return finishOf(finished < expectedChoices ? ends : ends.filter((end) => end !== undefined), done);
  }
}
