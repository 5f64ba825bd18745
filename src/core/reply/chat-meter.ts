import type { Usage } from '../../contract/types.ts';
import type { ChatChunk, ChunkOrWords } from '../chat.ts';
import { callPiecesOf, choicesOf, deltaOf, finishReasonOf, textPiecesOf, type CallPiece } from './chunk.ts';
import { ApiError } from '../errors.ts';
import { readUsage } from './usage.ts';
import { isCutOff, readFinishReason, type Finish } from './finish-reason.ts';
import type { Writable } from '../writable.ts';

/** What a chat completion says that is passed on instead of translated, as far as its record needs to know. */
export interface ChatMeter {
  feed(chunk: ChunkOrWords): void;
  /** The answer is over; `done` says whether `[DONE]` was in it, or it was a whole completion. */
  end(done: boolean): void;
  /** It ends early. After the finish reasons of all choices a failure of the connection loses nothing. */
  fail(error: ApiError): void;
  readonly failure: ApiError | null;
  readonly incompleteReason: 'max_output_tokens' | 'content_filter' | null;
  /** The latest usage that was reported. */
  readonly usage: Usage | null;
  /** UTF-16 code units of text, reasoning and arguments, over all choices. */
  readonly outputLength: number;
  readonly hasOutput: boolean;
  readonly ended: boolean;
}

/** Backends are trusted with nothing, and each choice is remembered. */
const MAX_CHOICES = 1024;

/** Counts an answer with so many choices. The first end is the one that holds. */
export function createChatMeter(expectedChoices: number): ChatMeter {
  /** By the index of the choice; undefined while it is being written. */
  const finishReasons = new Map<number, string | undefined>();

  const meter: Writable<ChatMeter> = {
    feed(chunk) {
      if (meter.ended) return;
      if (typeof chunk === 'string') {
        write(chunk);
        return;
      }
      for (const { index, choice } of choicesOf(chunk)) {
        meter.usage = readUsage(choice, undefined) ?? meter.usage;
        const known = finishReasons.get(index);
        if (finishReasons.size < MAX_CHOICES || finishReasons.has(index)) {
          finishReasons.set(index, finishReasonOf(choice) ?? known);
        }
        measure(deltaOf(choice));
      }
      meter.usage = readUsage(chunk, undefined) ?? meter.usage;
    },
    end(done) {
      if (!meter.ended) conclude(finishOf(done));
    },
    fail(error) {
      if (meter.ended) return;
      conclude(isCutOff(error) && isFinished() ? finishOf(true) : { kind: 'failed', error });
    },
    failure: null,
    incompleteReason: null,
    usage: null,
    outputLength: 0,
    hasOutput: false,
    ended: false,
  };
  return meter;

  /** The first end is the one that holds. */
  function conclude(finish: Finish): void {
    meter.ended = true;
    if (finish.kind === 'failed') meter.failure = finish.error;
    if (finish.kind === 'incomplete') meter.incompleteReason = finish.reason;
  }

  function measure(delta: ChatChunk): void {
    for (const { text } of textPiecesOf(delta)) write(text);
    for (const call of callPiecesIn(delta)) {
      write(call.arguments);
      meter.hasOutput = true;
    }
  }

  function write(words: string): void {
    meter.outputLength += words.length;
    if (words !== '') meter.hasOutput = true;
  }

  function isFinished(): boolean {
    const finished = [...finishReasons.values()].filter((reason) => reason !== undefined);
    return finished.length >= expectedChoices;
  }

  /** One choice that failed makes the whole fail, and one that is incomplete makes the whole incomplete. */
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

/** Arguments nested too deep to be written reach the client all the same; they only cannot be measured. */
function callPiecesIn(delta: ChatChunk): readonly CallPiece[] {
  try {
    return callPiecesOf(delta);
  } catch {
    return [];
  }
}
