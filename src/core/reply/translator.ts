import type {
  LogProb,
  OutputItem,
  ResponseError,
  ResponseEvent,
  ResponseResource,
  Usage,
} from '../../contract/types.ts';
import { createCalls, type CallsOptions } from './calls.ts';
import type { ChatChunk, ChunkOrWords } from '../chat.ts';
import {
  callPiecesOf,
  choiceOf,
  citationsOf,
  deltaOf,
  finishReasonOf,
  logprobsOf,
  serviceTierOf,
  sourcesOf,
  textPiecesOf,
  type TextPiece,
} from './chunk.ts';
import { createCitations } from './citations.ts';
import { ApiError, unreachable } from '../errors.ts';
import { createEventLog } from './event-log.ts';
import type { UniquePart } from '../ids.ts';
import { openMessageWriter, type MessageWriter } from './message-writer.ts';
import { openReasoningWriter, type ReasoningOptions, type ReasoningWriter } from './reasoning-writer.ts';
import { createStateCollector, type StateOptions } from './reply-state.ts';
import { createThinkTagSplitter } from './think-tags.ts';
import { readUsage, sumOfUsage } from './usage.ts';
import { isCutOff, readFinishReason } from './finish-reason.ts';
import type { Writable } from '../writable.ts';

export interface TranslatorOptions extends CallsOptions, Pick<ReasoningOptions, 'reasoningOutput'> {
  /** The response from `initialResponse`. It becomes the snapshot and is changed. */
  readonly response: ResponseResource;
  readonly unique: UniquePart;
  readonly thinkTags: boolean;
  readonly state?: StateOptions;
  readonly logprobs: boolean;
  readonly nowS: () => number;
}

/** What an earlier request to the backend used on behalf of this response. */
export interface Spent {
  readonly usage: Usage | null;
  readonly outputLength: number;
}

export interface Translator {
  /** Must be called once and first. */
  start(): readonly ResponseEvent[];
  feed(chunk: ChunkOrWords): readonly ResponseEvent[];
  /** Must be called at most once, before the answer. */
  addSpent(spent: Spent): void;
  addCompaction(encryptedContent: string, options: { readonly isLast: boolean }): readonly ResponseEvent[];
  /** `done` says whether the answer had `[DONE]`. */
  end(done: boolean): readonly ResponseEvent[];
  /** After the finish reason a broken connection loses nothing, and the answer ends normally. */
  fail(error: ApiError): readonly ResponseEvent[];
  cancel(): readonly ResponseEvent[];
  /** Repeats `response.in_progress` for clients that measure silence between events. */
  keepAlive(): readonly ResponseEvent[];
  /** The fold of all events so far. Readers must not change it. */
  readonly response: ResponseResource;
  readonly usage: Usage | null;
  /** UTF-16 code units of text, reasoning and arguments; 0 before the first output. */
  readonly outputLength: number;
  readonly failure: ApiError | null;
  readonly ended: boolean;
  /** Whether the finish reason has come, so that only usage can follow. */
  readonly finishing: boolean;
}

/** Calls are kept in `calls`, because several of them can be open at once. */
type Open =
  | { readonly kind: 'idle' }
  | { readonly kind: 'message'; readonly writer: MessageWriter }
  | { readonly kind: 'reasoning'; readonly writer: ReasoningWriter }
  | { readonly kind: 'calls' };

const IDLE: Open = { kind: 'idle' };

/**
 * Turns chat chunks into `response.*` events (schemas/event.json). Streams and JSON replies share
 * this one state machine.
 */
export function createTranslator(options: TranslatorOptions): Translator {
  const log = createEventLog(options.response, options.unique);
  const citations = createCitations(log);
  const calls = createCalls(log, options);
  const splitter = options.thinkTags ? createThinkTagSplitter() : undefined;
  const state =
    options.state && createStateCollector(log, { ...options.state, reasoningOutput: options.reasoningOutput });
  /** Hidden reasoning has an item only when the caller asks for it sealed. */
  const showsReasoning = options.reasoningOutput !== 'hidden' || options.state?.isAskedFor === true;

  let open: Open = IDLE;
  let chunkNumber = 0;
  let sawChoice = false;
  let lastKind: TextPiece['kind'] = 'text';
  let finishReason: string | undefined;
  let serviceTier: string | undefined;
  let spentBefore: Usage | null | undefined;
  let answerUsage: Usage | null = null;

  const translator: Writable<Translator> = {
    start() {
      log.emit({ type: 'response.created', response: { ...log.snapshot, output: [] } });
      log.emit({ type: 'response.in_progress', response: { ...log.snapshot, output: [] } });
      return takeEvents();
    },
    feed(chunk) {
      attempt(() => (typeof chunk === 'string' ? readWords(chunk) : readChunk(chunk)));
      return takeEvents();
    },
    addSpent({ usage, outputLength }) {
      spentBefore = usage;
      translator.usage = usage;
      translator.outputLength += outputLength;
    },
    addCompaction(encryptedContent, { isLast }) {
      attempt(() => {
        writeCompaction(encryptedContent);
        if (isLast) endCompleted();
      });
      return takeEvents();
    },
    end(done) {
      attempt(() => finish(done));
      return takeEvents();
    },
    fail(error) {
      attempt(() => {
        if (finishReason !== undefined && isCutOff(error)) finish(true);
        else endFailed('failed', error);
      });
      return takeEvents();
    },
    cancel() {
      if (!translator.ended) endFailed('cancelled', new ApiError('request_cancelled'));
      return takeEvents();
    },
    keepAlive() {
      if (!translator.ended) log.emit({ type: 'response.in_progress', response: structuredClone(log.snapshot) });
      return takeEvents();
    },
    response: log.snapshot,
    usage: null,
    outputLength: 0,
    failure: null,
    ended: false,
    finishing: false,
  };
  return translator;

  function takeEvents(): readonly ResponseEvent[] {
    translator.response = log.snapshot;
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
    chunkNumber += 1;
    const choice = choiceOf(chunk);
    answerUsage = readUsage(chunk, choice) ?? answerUsage;
    translator.usage = spentBefore === undefined ? answerUsage : sumOfUsage(spentBefore, answerUsage);
    serviceTier = serviceTierOf(chunk) ?? serviceTier;
    const sources = sourcesOf(chunk);
    if (sources !== undefined) citations.setSources(sources);
    if (choice === undefined) return;
    sawChoice = true;
    const delta = deltaOf(choice);
    state?.readDelta(delta);
    for (const citation of citationsOf(delta)) citations.add(citation);
    const logprobs = options.logprobs ? logprobsOf(choice) : [];
    for (const piece of textPiecesOf(delta)) addText(piece, logprobs);
    const callPieces = callPiecesOf(delta);
    if (callPieces.length > 0) releaseText();
    for (const piece of callPieces) translator.outputLength += calls.add(piece, chunkNumber, beginCalls);
    finishReason = finishReasonOf(choice) ?? finishReason;
    translator.finishing = finishReason !== undefined;
  }

  function readWords(text: string): void {
    chunkNumber += 1;
    if (text !== '') addText({ kind: lastKind, text }, []);
  }

  function addText(piece: TextPiece, logprobs: LogProb[]): void {
    lastKind = piece.kind;
    if (piece.kind !== 'text' || splitter === undefined) {
      addPiece(piece, logprobs);
      return;
    }
    for (const part of splitter.split(piece.text)) addPiece(part, logprobs);
  }

  function releaseText(): void {
    for (const piece of splitter?.release() ?? []) addPiece(piece, []);
  }

  function addPiece({ kind, text }: TextPiece, logprobs: LogProb[]): void {
    log.grow(text.length);
    translator.outputLength += text.length;
    switch (kind) {
      case 'text':
        message().writeText(text, logprobs);
        return;
      case 'refusal':
        message().writeRefusal(text);
        return;
      case 'reasoning':
        state?.addThoughts(text);
        if (showsReasoning) reasoning().write(text);
        return;
      default:
        unreachable(kind);
    }
  }

  /** A compaction is complete at once, so two events are enough. */
  function writeCompaction(encryptedContent: string): void {
    log.grow(encryptedContent.length);
    const place = log.addItem('cmp', (id) => ({
      type: 'compaction',
      id,
      status: 'in_progress',
      encrypted_content: '',
    }));
    const item = log.itemAt(place, 'compaction');
    log.closeItem(place, { ...item, status: 'completed', encrypted_content: encryptedContent });
  }

  function message(): MessageWriter {
    if (open.kind === 'message') return open.writer;
    leave('completed');
    const writer = openMessageWriter(log, citations);
    open = { kind: 'message', writer };
    return writer;
  }

  function reasoning(): ReasoningWriter {
    if (open.kind === 'reasoning') return open.writer;
    leave('completed');
    const seal = () => state?.seal(calls.announced());
    const writer = openReasoningWriter(log, { reasoningOutput: options.reasoningOutput, seal });
    open = { kind: 'reasoning', writer };
    return writer;
  }

  function beginCalls(): void {
    if (open.kind !== 'calls') leave('completed');
    open = { kind: 'calls' };
  }

  function leave(status: OutputItem['status']): void {
    const leaving = open;
    open = IDLE;
    switch (leaving.kind) {
      case 'idle':
        return;
      case 'message':
      case 'reasoning':
        leaving.writer.close(status);
        return;
      case 'calls':
        calls.closeComplete();
        return;
      default:
        unreachable(leaving);
    }
  }

  function finish(done: boolean): void {
    releaseText();
    const last = readFinishReason(finishReason, done && sawChoice);
    switch (last.kind) {
      case 'completed':
        endCompleted();
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

  function endCompleted(): void {
    if (calls.hasNameless()) {
      endFailed('failed', invalidResponse('The backend sent a tool call without a name.'));
      return;
    }
    leave('completed');
    calls.closeAll();
    writeRestOfState();
    translator.ended = true;
    log.emit({
      type: 'response.completed',
      response: { ...log.snapshot, ...lastFields(), status: 'completed', completed_at: options.nowS() },
    });
  }

  /** State can come after the last reasoning: Gemini signs calls, and thoughts may be hidden. */
  function writeRestOfState(): void {
    const sealed = state?.sealRest(calls.announced());
    if (sealed !== undefined)
      openReasoningWriter(log, { reasoningOutput: 'hidden', seal: () => sealed }).close('completed');
  }

  function endIncomplete(reason: 'max_output_tokens' | 'content_filter'): void {
    const inCall = open.kind === 'calls';
    leave('incomplete');
    calls.closeCut(inCall);
    writeRestOfState();
    translator.ended = true;
    log.emit({
      type: 'response.incomplete',
      response: { ...log.snapshot, ...lastFields(), status: 'incomplete', incomplete_details: { reason } },
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
    log.emit({ type: 'error', code, message, param, error: { message, type, param, code } });
    const responseError: ResponseError = { code, message };
    const output = log.snapshot.output.filter((item) => item.status !== 'in_progress');
    log.emit({
      type: 'response.failed',
      response: {
        ...log.snapshot,
        ...lastFields(),
        status,
        error: responseError,
        output,
        output_text: outputTextOf(output),
      },
    });
  }

  function lastFields(): Pick<ResponseResource, 'usage' | 'service_tier'> {
    return { usage: translator.usage, service_tier: serviceTier ?? log.snapshot.service_tier };
  }
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
