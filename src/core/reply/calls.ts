import type { OutputItem } from '../../contract/types.ts';
import { openCallWriter } from './call-writer.ts';
import { beginCall, createCallList, findCall, isRepetition, type BackendCall } from './match-call.ts';
import type { CallPiece } from './chunk.ts';
import { TEXT_WEIGHT, tooMuch, type EventLog } from './event-log.ts';
import type { CallId } from '../../contract/ids.ts';
import { mintCallId, toCallId } from '../ids.ts';
import { createJsonEnd } from './json-end.ts';
import { collectState, type CallOfReply } from './reply-state.ts';
import { createNameBeginnings, createToolFinder, type CallableTools } from '../request/tools.ts';

/** Several calls can be open at once, because backends interleave their pieces. */
export interface Calls {
  /** `beforeCall` runs before the item of a new call. */
  add(piece: CallPiece, chunkNumber: number, beforeCall: () => void): void;
  closeComplete(): void;
  closeAll(): void;
  /** `inCall` says whether the model was stopped while it wrote the last call. */
  closeCut(inCall: boolean): void;
  /** Whether the reply had calls, also if none of them was passed on. */
  hasAny(): boolean;
  hasNameless(): boolean;
  announced(): CallOfReply[];
}

export interface CallsOptions {
  readonly tools: CallableTools;
  /** Calls of the reply get other ids than calls of the request's input. */
  readonly usedCallIds: ReadonlySet<string>;
  /** Further calls are not sent to the client. */
  readonly maxToolCalls: number | null;
}

/** Those of a reply, and their pieces in one chunk. */
export const MAX_CALLS = 1024;
/** Bedrock sends this first, and then the real arguments (openai/openai-agents-js PR#712). */
const NO_ARGUMENTS = '{}';

/** `add` throws ApiError when there are too many calls, or when they are too long. */
export function createCalls(log: EventLog, { tools, usedCallIds, maxToolCalls }: CallsOptions): Calls {
  const list = createCallList();
  const calls = list.all;
  const findTool = createToolFinder(tools);
  const beginsToolName = createNameBeginnings(tools);
  const callIds = new Set<string>(usedCallIds);
  let passedOn = 0;

  function addArguments(call: BackendCall, delta: string): void {
    if (call.held !== '' && delta.startsWith('{')) {
      call.held = '';
      call.arguments = '';
      call.argumentsEnd = createJsonEnd();
    }
    const isHeld = call.arguments === '' && delta === NO_ARGUMENTS;
    if (!isHeld && call.writer !== undefined && call.writer !== 'withheld') call.writer.write(call.held + delta);
    call.held = isHeld ? delta : '';
    call.arguments += delta;
    call.argumentsEnd.feed(delta);
  }

  function closeComplete(): void {
    for (const call of openCalls()) if (call.argumentsEnd.reached) close(call, 'completed');
  }

  return {
    add(piece, chunkNumber, beforeCall) {
      const call = continueName(piece) ?? findCall(list, piece, chunkNumber) ?? open(piece, beforeCall);
      call.lastChunk = chunkNumber;
      collectState(log, call.state, piece);
      // Its arguments are complete, so this piece repeats the whole call or is empty.
      if (call.closed) return;
      if (call.name === '') call.name = piece.name;
      const delta = isRepetition(call, piece) ? '' : piece.arguments;
      log.grow(TEXT_WEIGHT * delta.length);
      if (delta !== '') addArguments(call, delta);
      if (call.writer === undefined && isNamed(call)) announce(call, beforeCall);
    },
    closeComplete,
    closeAll() {
      for (const call of openCalls()) close(call, 'completed');
    },
    closeCut(inCall) {
      closeComplete();
      const cut = inCall ? calls.at(-1) : undefined;
      for (const call of openCalls()) close(call, call === cut || call.arguments !== '' ? 'incomplete' : 'completed');
    },
    hasAny: () => calls.length > 0,
    hasNameless: () => calls.some((call) => call.name === '' && call.arguments !== ''),
    announced: () =>
      calls.flatMap(({ callId, state }) => (callId === undefined ? [] : [{ call_id: callId, ...state }])),
  };

  /** The SDKs of OpenAI join the pieces of a name. */
  function continueName(piece: CallPiece): BackendCall | undefined {
    const call = calls.at(-1);
    if (piece.name === '' || call?.writer !== undefined || call?.index === undefined) return undefined;
    const name = call.name + piece.name;
    const isSame = piece.index === call.index && (piece.id === '' || piece.id === call.backendId);
    if (!isSame || !beginsToolName(call.name) || !(tools.originals.has(name) || beginsToolName(name))) return undefined;
    call.name = name;
    return call;
  }

  function isNamed({ name, arguments: given }: BackendCall): boolean {
    return name !== '' && (given !== '' || !beginsToolName(name));
  }

  function open(piece: CallPiece, beforeCall: () => void): BackendCall {
    if (calls.length >= MAX_CALLS) throw tooMuch();
    beforeCall();
    for (const call of calls) if (call.writer === undefined && call.name !== '') announce(call, beforeCall);
    closeComplete();
    const call = beginCall(piece);
    list.add(call);
    return call;
  }

  function announce(call: BackendCall, beforeCall: () => void): void {
    const tool = findTool(call.name);
    if (tool === undefined || passedOn >= (maxToolCalls ?? Infinity)) {
      call.writer = 'withheld';
      return;
    }
    passedOn += 1;
    // Text may have come since the call began without a name.
    beforeCall();
    call.callId = claimCallId(call.backendId);
    call.writer = openCallWriter(tool, call.callId, log);
    if (call.arguments !== '' && call.held === '') call.writer.write(call.arguments);
  }

  function claimCallId(backendId: string): CallId {
    let callId = toCallId(backendId);
    for (let n = log.snapshot.output.length; callId === '' || callIds.has(callId); n += 1) {
      callId = mintCallId(log.unique, n);
    }
    callIds.add(callId);
    return callId;
  }

  function openCalls(): BackendCall[] {
    return calls.filter((call) => !call.closed);
  }

  function close(call: BackendCall, status: OutputItem['status']): void {
    if (call.writer === undefined && call.name !== '') announce(call, () => undefined);
    call.closed = true;
    if (call.writer !== undefined && call.writer !== 'withheld') call.writer.close(status);
  }
}
