import type {
  ContentPart,
  LogProb,
  MessagePart,
  OutputItem,
  ResponseError,
  ResponseEvent,
  ResponseResource,
  UrlCitation,
  Usage,
} from '../types/contract.ts';
import { openCallWriter, type CallOutput, type Unnumbered } from './call-writer.ts';
import { findCall, isCompleteObject, isRepetition, type BackendCall } from './calls.ts';
import type { ChatChunk } from './chat.ts';
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
  type CallPiece,
  type Source,
  type TextPiece,
} from './chunk.ts';
import { citationsInText } from './citations.ts';
import { ApiError } from './errors.ts';
import { foldEvent } from './fold.ts';
import { mintCallId, toCallId, toItemId, type CallId, type ItemId, type UniquePart } from './ids.ts';
import { createThinkTagSplitter } from './think-tags.ts';
import type { ToolPlan } from './tools.ts';
import { unreachable } from './unreachable.ts';
import { readUsage } from './usage.ts';

export interface TranslatorOptions {
  /** The response before the first chunk, from `initialResponse`. It becomes the snapshot and is changed. */
  readonly response: ResponseResource;
  readonly unique: UniquePart;
  readonly tools: Pick<ToolPlan, 'toolOfCall'>;
  /** Call ids of the request's own input, which no call of the reply may have. */
  readonly usedCallIds: ReadonlySet<string>;
  readonly reasoningOutput: 'summary' | 'content' | 'hidden';
  /** The answer may begin with a `<think>` block. */
  readonly thinkTags: boolean;
  /** Whether the caller asked for log probabilities; what a backend sends unasked is left out. */
  readonly logprobs: boolean;
  /** Calls beyond this number are not passed on. */
  readonly maxToolCalls: number | null;
  /** Unix time in seconds. */
  readonly nowS: () => number;
}

/** Chat chunks in, `response.*` events out (contract, section 4). Each function returns the events that it causes. */
export interface Translator {
  /** `response.created` and `response.in_progress`; called once and first. */
  start(): readonly ResponseEvent[];
  feed(chunk: ChatChunk): readonly ResponseEvent[];
  /** The backend's answer is over; `done` says whether `[DONE]` was in it. */
  end(done: boolean): readonly ResponseEvent[];
  /** The backend, or the gateway, failed. After the backend's finish reason a failure of its connection loses nothing, and the answer ends as it should. */
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

/** What is open besides calls. Calls stay open beside each other, since backends interleave their pieces. */
type Open =
  | { readonly kind: 'idle' }
  | {
      readonly kind: 'message';
      readonly outputIndex: number;
      readonly itemId: ItemId;
      readonly contentIndex: number;
      readonly part: MessagePart['type'];
    }
  | { readonly kind: 'reasoning'; readonly outputIndex: number; readonly itemId: ItemId }
  | { readonly kind: 'calls' };

const IDLE: Open = { kind: 'idle' };

const MAX_CALLS = 1024;
/** UTF-16 code units of text, reasoning and arguments, and what stands beside them, weighed in the same unit. */
const MAX_WEIGHT = 32 * 1024 * 1024;
/** An item or a part of one: what its objects and events take besides their text. */
const PLACE_WEIGHT = 4096;
/** One log probability or one citation. */
const DETAIL_WEIGHT = 16;

/** The one state machine. A stream and a JSON reply differ only in what is done with its events. */
export function createTranslator(options: TranslatorOptions): Translator {
  const { unique, tools, usedCallIds, reasoningOutput, nowS } = options;
  const splitter = options.thinkTags ? createThinkTagSplitter() : undefined;

  let snapshot = options.response;
  let events: ResponseEvent[] = [];
  let sequenceNumber = 0;
  let chunkNumber = 0;
  let outputLength = 0;
  let weight = 0;

  let open: Open = IDLE;
  const calls: BackendCall[] = [];
  const callIds = new Set<string>(usedCallIds);
  let passedOnCalls = 0;

  let sawChoice = false;
  let finishReason: string | undefined;
  let usage: Usage | null = null;
  let serviceTier: string | undefined;
  let citations: UrlCitation[] = [];
  let sources: readonly Source[] = [];
  let failure: ApiError | null = null;
  let ended = false;

  const callOutput: CallOutput = {
    unique,
    nextOutputIndex: () => snapshot.output.length,
    itemAt: (outputIndex) => snapshot.output[outputIndex],
    emit,
    addItem,
    closeItem,
  };

  return {
    start() {
      emit({ type: 'response.created', response: { ...snapshot, output: [] } });
      emit({ type: 'response.in_progress', response: { ...snapshot, output: [] } });
      return take();
    },
    feed(chunk) {
      attempt(() => readChunk(chunk));
      return take();
    },
    end(done) {
      attempt(() => finish(done));
      return take();
    },
    fail(error) {
      const lostNothing = error.code === 'upstream_error' || error.code === 'upstream_timeout';
      attempt(() => {
        if (finishReason !== undefined && lostNothing) finish(true);
        else endFailed('failed', error);
      });
      return take();
    },
    cancel() {
      if (!ended) endFailed('cancelled', new ApiError('request_cancelled'));
      return take();
    },
    keepAlive() {
      if (!ended) emit({ type: 'response.in_progress', response: structuredClone(snapshot) });
      return take();
    },
    get response() {
      return snapshot;
    },
    get usage() {
      return usage;
    },
    get outputLength() {
      return outputLength;
    },
    get failure() {
      return failure;
    },
    get ended() {
      return ended;
    },
    get finishing() {
      return finishReason !== undefined;
    },
  };

  /** Numbers an event and folds it into the snapshot. Nothing else does either. */
  function emit(unnumbered: Unnumbered): void {
    const event: ResponseEvent = { ...unnumbered, sequence_number: sequenceNumber };
    sequenceNumber += 1;
    snapshot = foldEvent(snapshot, event);
    events.push(event);
  }

  function take(): readonly ResponseEvent[] {
    const taken = events;
    events = [];
    return taken;
  }

  /** What the backend sends may be more, or other, than can be taken; then the response fails. */
  function attempt(step: () => void): void {
    if (ended) return;
    try {
      step();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      endFailed('failed', error);
    }
  }

  /** To be called before anything is kept. Throws ApiError when it would be too much. */
  function grow(by: number): void {
    weight += by;
    if (weight > MAX_WEIGHT) throw tooMuch();
  }

  // --- what a chunk says -------------------------------------------------------------------------------------------

  function readChunk(chunk: ChatChunk): void {
    chunkNumber += 1;
    const choice = choiceOf(chunk);
    usage = readUsage(chunk, choice) ?? usage;
    serviceTier = serviceTierOf(chunk) ?? serviceTier;
    sources = sourcesOf(chunk) ?? sources;
    if (choice === undefined) return;
    sawChoice = true;
    const delta = deltaOf(choice);
    for (const citation of citationsOf(delta)) addCitation(citation);
    const logprobs = options.logprobs ? logprobsOf(choice) : [];
    for (const piece of textPiecesOf(delta)) addText(piece, logprobs);
    const callPieces = callPiecesOf(delta);
    if (callPieces.length > 0) releaseText();
    for (const piece of callPieces) addCallPiece(piece);
    finishReason = finishReasonOf(choice) ?? finishReason;
  }

  function addCitation(citation: UrlCitation): void {
    grow(citation.url.length + citation.title.length + DETAIL_WEIGHT);
    citations.push(citation);
  }

  function addText(piece: TextPiece, logprobs: LogProb[]): void {
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

  /** The log probabilities of a chunk go with its first text and are taken out of the list. */
  function addPiece({ kind, text }: TextPiece, logprobs: LogProb[]): void {
    grow(text.length);
    outputLength += text.length;
    switch (kind) {
      case 'text': {
        for (const logprob of logprobs) grow(weightOf(logprob));
        const { itemId, outputIndex, contentIndex } = openPart('output_text');
        emit({
          type: 'response.output_text.delta',
          item_id: itemId,
          output_index: outputIndex,
          content_index: contentIndex,
          delta: text,
          logprobs: logprobs.splice(0),
        });
        return;
      }
      case 'refusal': {
        const { itemId, outputIndex, contentIndex } = openPart('refusal');
        emit({
          type: 'response.refusal.delta',
          item_id: itemId,
          output_index: outputIndex,
          content_index: contentIndex,
          delta: text,
        });
        return;
      }
      case 'reasoning':
        addReasoning(text);
        return;
      default:
        unreachable(kind);
    }
  }

  // --- messages ----------------------------------------------------------------------------------------------------

  /** The open part of this type; opens the message and the part, and closes what stands in the way, where needed. */
  function openPart(type: MessagePart['type']): Extract<Open, { kind: 'message' }> {
    if (open.kind === 'message' && open.part === type) return open;
    let contentIndex = 0;
    let place: { readonly outputIndex: number; readonly itemId: ItemId };
    if (open.kind === 'message') {
      closePart(open);
      place = open;
      contentIndex = open.contentIndex + 1;
    } else {
      leave();
      place = { outputIndex: snapshot.output.length, itemId: toItemId('msg', unique, snapshot.output.length) };
      addItem({ type: 'message', id: place.itemId, status: 'in_progress', role: 'assistant', content: [] });
    }
    const { outputIndex, itemId } = place;
    grow(PLACE_WEIGHT);
    emit({
      type: 'response.content_part.added',
      item_id: itemId,
      output_index: outputIndex,
      content_index: contentIndex,
      part: type === 'output_text' ? { type, text: '', annotations: [], logprobs: [] } : { type, refusal: '' },
    });
    const message = { kind: 'message', outputIndex, itemId, contentIndex, part: type } as const;
    open = message;
    return message;
  }

  function closePart({ itemId, outputIndex, contentIndex }: Extract<Open, { kind: 'message' }>): void {
    const place = { item_id: itemId, output_index: outputIndex, content_index: contentIndex };
    const item = snapshot.output[outputIndex];
    const part: ContentPart | undefined = item?.type === 'message' ? item.content[contentIndex] : undefined;
    if (part === undefined) throw new RangeError('the open part is not in the snapshot');
    if (part.type === 'output_text') {
      annotate(part.text, place);
      emit({ type: 'response.output_text.done', ...place, text: part.text, logprobs: part.logprobs });
    } else if (part.type === 'refusal') {
      emit({ type: 'response.refusal.done', ...place, refusal: part.refusal });
    }
    emit({ type: 'response.content_part.done', ...place, part });
  }

  /** Citations may come before, with or after the text they belong to, so they are told when the text is complete. */
  function annotate(text: string, place: { item_id: ItemId; output_index: number; content_index: number }): void {
    for (const citation of citationsInText(text, sources)) addCitation(citation);
    for (const [index, annotation] of citations.entries()) {
      emit({ type: 'response.output_text.annotation.added', ...place, annotation_index: index, annotation });
    }
    citations = [];
  }

  // --- reasoning ---------------------------------------------------------------------------------------------------

  function addReasoning(delta: string): void {
    if (reasoningOutput === 'hidden') return;
    const { itemId, outputIndex } = open.kind === 'reasoning' ? open : openReasoning();
    const place = { item_id: itemId, output_index: outputIndex };
    if (reasoningOutput === 'summary') {
      emit({ type: 'response.reasoning_summary_text.delta', ...place, summary_index: 0, delta });
    } else {
      emit({ type: 'response.reasoning_text.delta', ...place, content_index: 0, delta });
    }
  }

  function openReasoning(): Extract<Open, { kind: 'reasoning' }> {
    leave();
    const outputIndex = snapshot.output.length;
    const itemId = toItemId('rs', unique, outputIndex);
    addItem({ type: 'reasoning', id: itemId, status: 'in_progress', summary: [] });
    const place = { item_id: itemId, output_index: outputIndex };
    if (reasoningOutput === 'summary') {
      const part = { type: 'summary_text', text: '' } as const;
      emit({ type: 'response.reasoning_summary_part.added', ...place, summary_index: 0, part });
    } else {
      emit({
        type: 'response.content_part.added',
        ...place,
        content_index: 0,
        part: { type: 'reasoning_text', text: '' },
      });
    }
    const reasoning = { kind: 'reasoning', outputIndex, itemId } as const;
    open = reasoning;
    return reasoning;
  }

  function closeReasoning({ itemId, outputIndex }: Extract<Open, { kind: 'reasoning' }>): void {
    const place = { item_id: itemId, output_index: outputIndex };
    const item = snapshot.output[outputIndex];
    if (item?.type !== 'reasoning') throw new RangeError('the open reasoning is not in the snapshot');
    for (const [index, part] of item.summary.entries()) {
      emit({ type: 'response.reasoning_summary_text.done', ...place, summary_index: index, text: part.text });
      emit({ type: 'response.reasoning_summary_part.done', ...place, summary_index: index, part });
    }
    for (const [index, part] of (item.content ?? []).entries()) {
      emit({ type: 'response.reasoning_text.done', ...place, content_index: index, text: part.text });
      emit({ type: 'response.content_part.done', ...place, content_index: index, part });
    }
  }

  // --- calls -------------------------------------------------------------------------------------------------------

  function addCallPiece(piece: CallPiece): void {
    const call = findCall(calls, piece, chunkNumber) ?? openCall(piece);
    call.lastChunk = chunkNumber;
    // Its arguments were complete: this is the whole call once more, or an empty piece.
    if (call.closed) return;
    if (call.name === '') call.name = piece.name;
    const delta = isRepetition(call, piece) ? '' : piece.arguments;
    grow(delta.length);
    outputLength += delta.length;
    call.arguments += delta;
    if (call.writer === undefined) {
      if (call.name !== '') announce(call);
    } else if (delta !== '' && call.writer !== 'withheld') {
      call.writer.write(delta);
    }
  }

  function openCall(piece: CallPiece): BackendCall {
    if (calls.length >= MAX_CALLS) throw tooMuch();
    if (open.kind !== 'calls') leave();
    open = { kind: 'calls' };
    // Whoever runs the calls can begin with those that are complete.
    closeCompleteCalls();
    const call: BackendCall = {
      index: piece.index,
      backendId: piece.id,
      name: piece.name,
      arguments: '',
      lastChunk: chunkNumber,
      writer: undefined,
      closed: false,
    };
    calls.push(call);
    return call;
  }

  /** Begins its item as soon as the name is known, with what has come of the arguments. */
  function announce(call: BackendCall): void {
    const tool = tools.toolOfCall(call.name);
    if (tool === undefined || passedOnCalls >= (options.maxToolCalls ?? Infinity)) {
      call.writer = 'withheld';
      return;
    }
    passedOnCalls += 1;
    call.writer = openCallWriter(tool, claimCallId(call.backendId), callOutput);
    if (call.arguments !== '') call.writer.write(call.arguments);
  }

  function claimCallId(backendId: string): CallId {
    let callId = toCallId(backendId);
    for (let n = snapshot.output.length; callId === '' || callIds.has(callId); n += 1) callId = mintCallId(unique, n);
    callIds.add(callId);
    return callId;
  }

  function closeCompleteCalls(): void {
    for (const call of openCalls()) if (isCompleteObject(call.arguments)) closeCall(call, 'completed');
  }

  function openCalls(): BackendCall[] {
    return calls.filter((call) => !call.closed);
  }

  function closeCall(call: BackendCall, status: OutputItem['status']): void {
    call.closed = true;
    if (call.writer !== undefined && call.writer !== 'withheld') call.writer.close(status);
  }

  // --- items -------------------------------------------------------------------------------------------------------

  function addItem(item: OutputItem): void {
    grow(PLACE_WEIGHT);
    emit({ type: 'response.output_item.added', output_index: snapshot.output.length, item });
  }

  function closeItem(outputIndex: number, status: OutputItem['status']): void {
    const item = snapshot.output[outputIndex];
    if (item === undefined) throw new RangeError('the open item is not in the snapshot');
    emit({ type: 'response.output_item.done', output_index: outputIndex, item: { ...item, status } });
  }

  /** Something else begins: a message or a thought is complete then, and so is a call whose arguments are. */
  function leave(status: OutputItem['status'] = 'completed'): void {
    const leaving = open;
    open = IDLE;
    switch (leaving.kind) {
      case 'idle':
        return;
      case 'message':
        closePart(leaving);
        closeItem(leaving.outputIndex, status);
        return;
      case 'reasoning':
        closeReasoning(leaving);
        closeItem(leaving.outputIndex, status);
        return;
      case 'calls':
        closeCompleteCalls();
        return;
      default:
        unreachable(leaving);
    }
  }

  // --- the ways out ------------------------------------------------------------------------------------------------

  function finish(done: boolean): void {
    releaseText();
    const verdict = verdictOn(finishReason, done && sawChoice);
    switch (verdict.kind) {
      case 'completed':
        endCompleted();
        return;
      case 'incomplete':
        endIncomplete(verdict.reason);
        return;
      case 'failed':
        endFailed(
          'failed',
          sawChoice
            ? verdict.error
            : new ApiError('upstream_invalid_response', { message: 'The backend sent no answer.' }),
        );
        return;
      default:
        unreachable(verdict);
    }
  }

  function endCompleted(): void {
    if (calls.some((call) => call.name === '' && call.arguments !== '')) {
      endFailed(
        'failed',
        new ApiError('upstream_invalid_response', { message: 'The backend sent a tool call without a name.' }),
      );
      return;
    }
    leave();
    for (const call of openCalls()) closeCall(call, 'completed');
    ended = true;
    emit({
      type: 'response.completed',
      response: { ...snapshot, ...lastFields(), status: 'completed', completed_at: nowS() },
    });
  }

  /** The item which was being written when the model stopped is incomplete, as is a call whose arguments are cut. */
  function endIncomplete(reason: 'max_output_tokens' | 'content_filter'): void {
    const cutCall = open.kind === 'calls' ? calls.at(-1) : undefined;
    leave('incomplete');
    for (const call of openCalls()) {
      closeCall(call, call === cutCall || call.arguments !== '' ? 'incomplete' : 'completed');
    }
    ended = true;
    emit({
      type: 'response.incomplete',
      response: { ...snapshot, ...lastFields(), status: 'incomplete', incomplete_details: { reason } },
    });
  }

  /** No single event is understood by all clients: `error` in both its shapes, then `response.failed`. */
  function endFailed(status: 'failed' | 'cancelled', error: ApiError): void {
    ended = true;
    failure = error;
    const { code, message, param, type } = error;
    emit({ type: 'error', code, message, param, error: { message, type, param, code } });
    const responseError: ResponseError = { code, message };
    const output = snapshot.output.filter((item) => item.status !== 'in_progress');
    emit({
      type: 'response.failed',
      response: {
        ...snapshot,
        ...lastFields(),
        status,
        error: responseError,
        output,
        output_text: outputTextOf(output),
      },
    });
  }

  function lastFields(): Pick<ResponseResource, 'usage' | 'service_tier'> {
    return { usage, service_tier: serviceTier ?? snapshot.service_tier };
  }
}

function tooMuch(): ApiError {
  return new ApiError('upstream_invalid_response', { message: 'The backend sent more than this gateway takes.' });
}

function weightOf({ token, bytes, top_logprobs: top }: LogProb): number {
  const own = token.length + bytes.length + DETAIL_WEIGHT;
  return top.reduce((sum, other) => sum + other.token.length + other.bytes.length + DETAIL_WEIGHT, own);
}

type Verdict =
  | { readonly kind: 'completed' }
  | { readonly kind: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly kind: 'failed'; readonly error: ApiError };

/** What the backend's finish reason means (contract, section 3). `complete`: `[DONE]` came, which stands in for a missing reason. */
function verdictOn(finishReason: string | undefined, complete: boolean): Verdict {
  switch (finishReason) {
    case undefined:
      return complete
        ? { kind: 'completed' }
        : {
            kind: 'failed',
            error: new ApiError('upstream_error', { message: 'The backend ended its answer before it was complete.' }),
          };
    case 'length':
    case 'model_length':
    case 'max_tokens':
      return { kind: 'incomplete', reason: 'max_output_tokens' };
    case 'content_filter':
      return { kind: 'incomplete', reason: 'content_filter' };
    case 'error':
    case 'abort':
    case 'insufficient_system_resource':
      return {
        kind: 'failed',
        error: new ApiError('upstream_error', { message: 'The backend gave up on its answer.' }),
      };
    default:
      return { kind: 'completed' };
  }
}

function outputTextOf(output: readonly OutputItem[]): string {
  return output
    .flatMap((item) => (item.type === 'message' ? item.content : []))
    .flatMap((part) => (part.type === 'output_text' ? [part.text] : []))
    .join('');
}
