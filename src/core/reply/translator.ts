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

/** Call ids in `usedCallIds` are those of the request's own input; calls beyond `maxToolCalls` are not passed on. */
export interface TranslatorOptions extends CallsOptions, Pick<ReasoningOptions, 'reasoningOutput'> {
  /** The response before the first chunk, from `initialResponse`. It becomes the snapshot and is changed. */
  readonly response: ResponseResource;
  readonly unique: UniquePart;
  /** The answer may begin with a `<think>` block. */
  readonly thinkTags: boolean;
  /** What the backend attaches goes to the client, sealed; absent where nobody gives it back. */
  readonly state?: StateOptions;
  /** Whether the caller asked for log probabilities; what a backend sends unasked is left out. */
  readonly logprobs: boolean;
  /** Unix time in seconds. */
  readonly nowS: () => number;
}

/** What the backend has used for a request of its own, before it is asked for the answer. */
export interface Spent {
  /** As it reported it. */
  readonly usage: Usage | null;
  /** In UTF-16 code units. */
  readonly outputLength: number;
}

/** Chat chunks in, `response.*` events out (contract, section 4). Each function returns the events that it causes. */
export interface Translator {
  /** `response.created` and `response.in_progress`; called once and first. */
  start(): readonly ResponseEvent[];
  feed(chunk: ChunkOrWords): readonly ResponseEvent[];
  /** From now on the response has used that too. To be called once, before the answer. */
  addSpent(spent: Spent): void;
  /** The history has been compacted, before the answer or, when it is the last thing to tell, in the place of one. */
  addCompaction(encryptedContent: string, options: { readonly isLast: boolean }): readonly ResponseEvent[];
  /** The backend's answer is over; `done` says whether `[DONE]` was in it. */
  end(done: boolean): readonly ResponseEvent[];
  /**
   * The backend, or the gateway, failed. After the backend's finish reason a failure of its connection loses nothing, and the
   * answer ends as it should.
   */
  fail(error: ApiError): readonly ResponseEvent[];
  /** The caller asked for a cancel. */
  cancel(): readonly ResponseEvent[];
  /** `response.in_progress` once more, with the response as it stands, for clients that time silence by data events. */
  keepAlive(): readonly ResponseEvent[];
  /** The snapshot: the fold of all events so far. Not to be changed. */
  readonly response: ResponseResource;
  /** The latest usage the backend reported, also while the response is not at its end. */
  readonly usage: Usage | null;
  /** UTF-16 code units of text, reasoning and arguments so far; 0 as long as the backend has said nothing. */
  readonly outputLength: number;
  /** Why it failed, when it did. */
  readonly failure: ApiError | null;
  readonly ended: boolean;
  /** The backend has said why it stopped; only usage can follow. */
  readonly finishing: boolean;
}

/** What is being said. Calls have a book of their own, since several of them can be open beside each other. */
type Open =
  | { readonly kind: 'idle' }
  | { readonly kind: 'message'; readonly writer: MessageWriter }
  | { readonly kind: 'reasoning'; readonly writer: ReasoningWriter }
  | { readonly kind: 'calls' };

const IDLE: Open = { kind: 'idle' };

/** The one state machine. A stream and a JSON reply differ only in what is done with its events. */
export function createTranslator(options: TranslatorOptions): Translator {
  const log = createEventLog(options.response, options.unique);
  const citations = createCitations(log);
  const calls = createCalls(log, options);
  const splitter = options.thinkTags ? createThinkTagSplitter() : undefined;
  const state =
    options.state && createStateCollector(log, { ...options.state, reasoningOutput: options.reasoningOutput });
  /** Hidden reasoning has an item only for a caller who asks for it sealed. */
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

  /** What the backend sends may be more, or other, than can be taken; then the response fails. */
  function attempt(step: () => void): void {
    if (translator.ended) return;
    try {
      step();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      endFailed('failed', error);
    }
  }

  // --- what a chunk says -------------------------------------------------------------------------------------------

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

  /** What the splitter holds back comes before what follows. */
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

  /** A compaction is there as a whole, so that two events are enough. */
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

  /** Something else begins: a message or a thought is over then, and so is a call whose arguments are complete. */
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

  // --- the ways out ------------------------------------------------------------------------------------------------

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

  /** What came after the last reasoning item, or without any: Gemini signs calls, and thoughts may be hidden. */
  function writeRestOfState(): void {
    const sealed = state?.sealRest(calls.announced());
    if (sealed !== undefined)
      openReasoningWriter(log, { reasoningOutput: 'hidden', seal: () => sealed }).close('completed');
  }

  /** The item which was being written when the model stopped is incomplete, as is a call whose arguments are cut. */
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

  /** No single event is understood by all clients: `error` in both its shapes, then `response.failed`. */
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
