import type { OutputItem, ResponseEvent, ResponseResource } from '../../contract/types.ts';
import type { ChatChunk } from '../chat.ts';
import { choicesOf, finishReasonOf, MAX_CHOICES, sourcesOf } from './chunk.ts';
import { ApiError, isCancel, unreachable } from '../errors.ts';
import { createEventLog } from './event-log.ts';
import type { UniquePart } from '../ids.ts';
import { createOutputWriter, type OutputWriterOptions } from './output-writer.ts';
import { NOTHING_REPORTED, readReported, sumOfReported, type Reported } from './usage.ts';
import { endOf, finishOf, givenUp, isCutOff, worseOf, type End } from './finish-reason.ts';
import type { Writable } from '../writable.ts';

export interface TranslatorOptions extends OutputWriterOptions {
  /** The response from `initialResponse`. It becomes the snapshot and is changed. */
  readonly response: ResponseResource;
  readonly unique: UniquePart;
  readonly nowS: () => number;
}

/** What an earlier request to the backend used on behalf of this response. */
export interface Spent {
  readonly reported: Reported;
  readonly outputLength: number;
}

export interface Translator {
  /** Must be called once and first. */
  start(): readonly ResponseEvent[];
  /** Takes what came in one read. */
  feed(chunks: readonly ChatChunk[]): readonly ResponseEvent[];
  /** Before the first chunk another backend may answer, whose chunks are read by these options. */
  readFrom(options: OutputWriterOptions): void;
  /** Must be called at most once, before the answer. */
  addSpent(spent: Spent): void;
  addCompaction(encryptedContent: string, options: { readonly isLast: boolean }): readonly ResponseEvent[];
  /** Completes a response for which no answer was asked. */
  endWithoutAnswer(): readonly ResponseEvent[];
  /** `done` says whether the answer had `[DONE]`. */
  end(done: boolean): readonly ResponseEvent[];
  /** After the finish reason a broken connection loses nothing, and the answer ends normally. */
  fail(error: ApiError): readonly ResponseEvent[];
  cancel(): readonly ResponseEvent[];
  /**
   * Returns other last events for a response that has ended, and whose last events `unsent` nobody
   * has read: it fails instead.
   */
  revoke(unsent: readonly ResponseEvent[], error: ApiError): readonly ResponseEvent[];
  /** Repeats `response.in_progress` for clients that measure silence between events. */
  keepAlive(): readonly ResponseEvent[];
  /** The fold of all events so far. Readers must not change it. */
  readonly response: ResponseResource;
  /** Of all requests to the backend together. */
  readonly reported: Reported;
  /** UTF-16 code units of text, reasoning and arguments; 0 before the first output. */
  readonly outputLength: number;
  /** Whether it takes long to write the last events, which repeat the answer. */
  readonly isLarge: boolean;
  readonly failure: ApiError | null;
  readonly ended: boolean;
  /** Whether the finish reason has come, so that only usage can follow. */
  readonly finishing: boolean;
  /** The first finish reason of which nobody knows what it means. */
  readonly unknownReason: string | undefined;
}

/**
 * Turns chat chunks into `response.*` events (schemas/event.json). Streams and JSON replies share
 * this one state machine.
 */
export function createTranslator(options: TranslatorOptions): Translator {
  const log = createEventLog(options.response, options.unique);
  let output = createOutputWriter(log, options);
  let sawChoice = false;
  /** By the index of the choice. */
  const ends = new Map<number, End>();
  let spent: Spent | undefined;
  /** Whether the answer is asked for after a compaction. */
  let isResumed = false;
  let ofAnswer = NOTHING_REPORTED;

  const translator: Writable<Translator> = {
    start() {
      log.emit({ type: 'response.created', response: { ...log.snapshot, output: [] } });
      log.emit({ type: 'response.in_progress', response: { ...log.snapshot, output: [] } });
      return takeEvents();
    },
    feed(chunks) {
      attempt(() => {
        for (const chunk of chunks) readChunk(chunk);
      });
      return takeEvents();
    },
    readFrom(options) {
      output = createOutputWriter(log, options);
    },
    addSpent({ reported, outputLength }) {
      spent = { reported, outputLength };
      translator.reported = reported;
      translator.outputLength = outputLength;
    },
    addCompaction(encryptedContent, { isLast }) {
      attempt(() => {
        output.writeCompaction(encryptedContent);
        isResumed = !isLast;
        if (isLast) complete();
      });
      return takeEvents();
    },
    endWithoutAnswer() {
      attempt(complete);
      return takeEvents();
    },
    end(done) {
      attempt(() => finish(done));
      return takeEvents();
    },
    fail(error) {
      attempt(() => {
        if (ends.size > 0 && isCutOff(error)) finish(true);
        else endFailed('failed', error);
      });
      return takeEvents();
    },
    cancel() {
      if (!translator.ended) endFailed('cancelled', new ApiError('request_cancelled'));
      return takeEvents();
    },
    revoke(unsent, error) {
      const kept = unsent.filter(({ type }) => !ENDS.has(type));
      log.retract(unsent.length - kept.length);
      endFailed(error.code === 'request_cancelled' ? 'cancelled' : 'failed', error);
      return [...kept, ...takeEvents()];
    },
    keepAlive() {
      if (!translator.ended) log.emit({ type: 'response.in_progress', response: structuredClone(log.snapshot) });
      return takeEvents();
    },
    response: log.snapshot,
    reported: NOTHING_REPORTED,
    outputLength: 0,
    isLarge: false,
    failure: null,
    ended: false,
    finishing: false,
    unknownReason: undefined,
  };
  return translator;

  function takeEvents(): readonly ResponseEvent[] {
    translator.response = log.snapshot;
    translator.outputLength = (spent?.outputLength ?? 0) + output.length;
    translator.isLarge = log.isLarge();
    return log.take();
  }

  function attempt(step: () => void): void {
    if (translator.ended) return;
    try {
      step();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      endFailed('failed', error);
    }
  }

  function readChunk(chunk: ChatChunk): void {
    const choices = choicesOf(chunk);
    if (choices.length === 0) ofAnswer = readReported(ofAnswer, chunk, undefined);
    for (const { choice } of choices) ofAnswer = readReported(ofAnswer, chunk, choice);
    translator.reported = spent === undefined ? ofAnswer : sumOfReported(spent.reported, ofAnswer);
    const sources = sourcesOf(chunk);
    if (sources !== undefined) output.setSources(sources);
    for (const { choice, index } of choices) {
      sawChoice = true;
      output.writeChoice(choice, index);
      const reason = finishReasonOf(choice);
      if (reason !== undefined && ends.size < MAX_CHOICES) noteEnd(index, reason);
    }
    translator.finishing = ends.size > 0;
  }

  function noteEnd(index: number, reason: string): void {
    const end = endOf(reason);
    ends.set(index, worseOf(ends.get(index) ?? end, end));
    if (end === 'unknown') translator.unknownReason ??= reason;
  }

  function finish(done: boolean): void {
    output.release();
    const counted: End[] = [];
    for (const [index, end] of ends) if (!isOtherAnswer(index)) counted.push(end);
    const last = finishOf(counted, done && sawChoice);
    // Where an answer is cut, nobody can say which choices belong to it.
    if (last.kind !== 'failed') writeOthers();
    switch (last.kind) {
      case 'completed':
        endCompleted();
        return;
      case 'unknown':
        if (output.isWhole()) endCompleted();
        else endFailed('failed', givenUp());
        return;
      case 'incomplete':
        endIncomplete(last.reason);
        return;
      case 'failed':
        endFailed('failed', sawChoice ? last.error : invalidResponse('The backend sent no answer.'));
        return;
      default:
        unreachable(last);
    }
  }

  function writeOthers(): void {
    output.writeOthers((index, isSame) => !isOtherAnswer(index, isSame));
    output.release();
  }

  /**
   * Nobody asks for `n`, so choices are parts of one answer: text in one and calls in others
   * (ericc-ch/copilot-api PR#81), or a word in each. Two of words that both end well, and not in
   * calls, are two answers nevertheless, and so are two that both end and say the same.
   */
  function isOtherAnswer(index: number, isSame = false): boolean {
    const first = output.firstChoice;
    if (first === undefined || index === first) return false;
    return [first, index].every((one) => (isSame ? ends.has(one) : isAnswer(one)));
  }

  function isAnswer(index: number): boolean {
    const end = ends.get(index);
    return end !== undefined && end !== 'called' && end !== 'failed' && !output.hasCalls(index);
  }

  function endCompleted(): void {
    if (output.hasNamelessCall()) {
      endFailed('failed', invalidResponse('The backend sent a tool call without a name.'));
      return;
    }
    output.closeCompleted();
    complete();
  }

  function complete(): void {
    translator.ended = true;
    log.emit({
      type: 'response.completed',
      response: { ...lastResponse(), status: 'completed', completed_at: options.nowS() },
    });
  }

  function endIncomplete(reason: 'max_output_tokens' | 'content_filter'): void {
    output.closeCut();
    translator.ended = true;
    log.emit({
      type: 'response.incomplete',
      response: { ...lastResponse(), status: 'incomplete', incomplete_details: { reason } },
    });
  }

  /**
   * No single event is understood by all clients, so this emits `error` in both shapes and then
   * `response.failed`.
   */
  function endFailed(status: 'failed' | 'cancelled', error: ApiError): void {
    translator.ended = true;
    translator.failure = error;
    const { code, message, param, type } = error;
    // The backend may have read the prompt of the answer before its first chunk.
    if (isResumed && spent !== undefined && isStop(error)) {
      translator.reported = sumOfReported(spent.reported, ofAnswer);
    }
    log.emit({ type: 'error', code, message, param, error: { message, type, param, code } });
    const closed = log.snapshot.output.filter((item) => item.status !== 'in_progress');
    log.emit({
      type: 'response.failed',
      response: {
        ...lastResponse(),
        status,
        completed_at: null,
        error: { code, message },
        incomplete_details: null,
        output: closed,
        output_text: outputTextOf(closed),
      },
    });
  }

  function lastResponse(): ResponseResource {
    const { snapshot } = log;
    return {
      ...snapshot,
      usage: translator.reported.usage,
      service_tier: ofAnswer.pricedBy?.serviceTier ?? snapshot.service_tier,
    };
  }
}

const ENDS: ReadonlySet<ResponseEvent['type']> = new Set([
  'error',
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

/** Whether it was not the backend that ended the answer. */
function isStop(error: ApiError): boolean {
  return isCancel(error) || error.code === 'gateway_interrupted';
}

function invalidResponse(message: string): ApiError {
  return new ApiError('upstream_invalid_response', { message });
}

function outputTextOf(output: readonly OutputItem[]): string {
  return output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .flatMap((part) => (part.type === 'output_text' ? [part.text] : []))
    .join('');
}
