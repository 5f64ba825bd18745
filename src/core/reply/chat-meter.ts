import type { Usage } from '../../contract/types.ts';
import type { ChatChunk, ChunkOrWords } from '../chat.ts';
import { callPiecesOf, choicesOf, deltaOf, finishReasonOf, textPiecesOf, type CallPiece } from './chunk.ts';
import { ApiError } from '../errors.ts';
import { readUsage } from './usage.ts';
import { isCutOff, readFinishReason, type Finish } from './finish-reason.ts';
import type { Writable } from '../writable.ts';

export interface ChatMeter {
  feed(chunk: ChunkOrWords): void;
  /** `done` says whether the answer had `[DONE]`, or was a whole completion. */
  end(done: boolean): void;
  fail(error: ApiError): void;
  readonly failure: ApiError | null;
  readonly incompleteReason: 'max_output_tokens' | 'content_filter' | null;
  readonly usage: Usage | null;
  /** UTF-16 code units of text, reasoning and arguments in all choices. */
  readonly outputLength: number;
  readonly hasOutput: boolean;
  readonly ended: boolean;
}

/** Backends are not trusted, and each choice takes memory. */
const MAX_CHOICES = 1024;

/** Measures a relayed answer with this many choices. The first `end` or `fail` counts. */
export function createChatMeter(expectedChoices: number): ChatMeter {
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

/** Arguments that are nested too deep to be measured still reach the client. */
function callPiecesIn(delta: ChatChunk): readonly CallPiece[] {
  try {
    return callPiecesOf(delta);
  } catch {
    return [];
  }
}
