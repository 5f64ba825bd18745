import type { OutputItem } from '../../contract/types.ts';
import { openCallWriter } from './call-writer.ts';
import { beginCall, createCallList, findCall, type BackendCall } from './match-call.ts';
import type { CallPiece } from './chunk.ts';
import { TEXT_WEIGHT, tooMuch, type EventLog } from './event-log.ts';
import type { CallId } from '../../contract/ids.ts';
import { mintCallId, toCallId } from '../ids.ts';
import { collectState, type CallOfReply } from './reply-state.ts';
import { createNameBeginnings, createToolFinder, type ReplyTools } from '../request/tools.ts';

/** Several calls can be open at once, because backends interleave their pieces. */
export interface Calls {
  /**
   * Returns by how much the arguments grow, in UTF-16 code units. `beforeCall` runs before the item
   * of a new call.
   */
  add(piece: CallPiece, chunkNumber: number, beforeCall: () => void): number;
  closeComplete(): void;
  closeAll(): void;
  /** `inCall` says whether the model was stopped while it wrote the last call. */
  closeCut(inCall: boolean): void;
  /** Whether the reply had calls, also if none of them was passed on. */
  hasAny(): boolean;
  hasOf(choice: number): boolean;
  hasNameless(): boolean;
  areWhole(): boolean;
  announced(): CallOfReply[];
}

export interface CallsOptions {
  readonly tools: ReplyTools;
  /** Calls of the reply get other ids than calls of the request's input. */
  readonly usedCallIds: ReadonlySet<string>;
  /** Further calls are not sent to the client. */
  readonly maxToolCalls: number | null;
}

/** Those of a reply, and their pieces in one chunk. */
export const MAX_CALLS = 1024;

/** `add` throws ApiError when there are too many calls, or when they are too long. */
export function createCalls(log: EventLog, { tools, usedCallIds, maxToolCalls }: CallsOptions): Calls {
  const list = createCallList();
  const calls = list.all;
  const findTool = createToolFinder(tools);
  const beginsToolName = createNameBeginnings(tools);
  const callIds = new Set<string>(usedCallIds);
  let passedOn = 0;

  return {
    add(piece, chunkNumber, beforeCall) {
      const found = continueName(piece) ?? findCall(list, piece, chunkNumber);
      const call = (found && splitOff(found, piece, beforeCall)) ?? found ?? open(piece, beforeCall);
      if (piece.name !== '') list.addIndex(call, piece);
      call.lastChunk = chunkNumber;
      call.isSaidAgain ||= call.arguments.isWhole && (piece.name !== '' || piece.id !== '');
      collectState(log, call.state, piece);
      if (call.name === '') call.name = piece.name;
      // What is behind arguments that are told as whole would only break them.
      const isOver = call.closed && !call.arguments.repeats(piece.arguments);
      const before = call.arguments.length;
      write(call, isOver ? '' : call.arguments.feed(piece.arguments));
      if (call.writer === undefined && isNamed(call)) announce(call, beforeCall);
      return call.arguments.length - before;
    },
    closeComplete,
    closeAll() {
      for (const call of openCalls()) close(call, 'completed');
    },
    closeCut(inCall) {
      for (const call of openCalls()) if (call.arguments.isWhole) close(call, 'completed');
      const cut = inCall ? calls.at(-1) : undefined;
      for (const call of openCalls()) {
        close(call, call === cut || call.arguments.length > 0 ? 'incomplete' : 'completed');
      }
    },
    hasAny: () => calls.length > 0,
    hasOf: (choice) => calls.some((call) => call.choice === choice),
    hasNameless: () => calls.some((call) => call.name === '' && call.arguments.length > 0),
    areWhole: () => calls.every((call) => call.name !== '' && call.arguments.canEnd()),
    announced: () =>
      calls.flatMap(({ callId, state }) => (callId === undefined ? [] : [{ call_id: callId, ...state }])),
  };

  /** Arguments that are not those of the call again are those of another with its name. */
  function splitOff(call: BackendCall, piece: CallPiece, beforeCall: () => void): BackendCall | undefined {
    if (!call.isSaidAgain || call.arguments.canTake(piece.arguments)) return undefined;
    const beginning = call.arguments.takeRepeated();
    if (!(beginning + piece.arguments).trimStart().startsWith('{')) return undefined;
    const other = open({ ...piece, id: call.backendId, name: call.name }, beforeCall);
    other.arguments.feed(beginning);
    return other;
  }

  function write(call: BackendCall, delta: string): void {
    log.grow(TEXT_WEIGHT * delta.length);
    if (delta !== '' && call.writer !== undefined && call.writer !== 'withheld') call.writer.write(delta);
  }

  /**
   * The real arguments may come in the place of a placeholder, also after pieces of other calls. A call
   * without an item cannot wait for them, because the item of the next call would come before its own.
   */
  function closeComplete(): void {
    for (const call of openCalls()) {
      const mayGoOn = call.arguments.isPlaceholder() && hasItem(call);
      if (call.arguments.isWhole && !mayGoOn) close(call, 'completed');
    }
  }

  /** The SDKs of OpenAI join the pieces of a name. */
  function continueName(piece: CallPiece): BackendCall | undefined {
    const call = calls.at(-1);
    if (piece.name === '' || call?.writer !== undefined || call?.index === undefined) return undefined;
    const name = call.name + piece.name;
    const isAtIndex = piece.index === call.index && piece.choice === call.choice;
    const isSame = isAtIndex && (piece.id === '' || piece.id === call.backendId);
    if (!isSame || !beginsToolName(call.name) || !(tools.originals.has(name) || beginsToolName(name))) return undefined;
    call.name = name;
    return call;
  }

  function isNamed({ name, arguments: given }: BackendCall): boolean {
    return name !== '' && (given.length > 0 || !beginsToolName(name));
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
    if (call.arguments.emitted !== '') call.writer.write(call.arguments.emitted);
  }

  function claimCallId(backendId: string): CallId {
    let callId = toCallId(backendId);
    for (let n = log.snapshot.output.length; callId === '' || callIds.has(callId); n += 1) {
      callId = mintCallId(log.unique, n);
    }
    callIds.add(callId);
    return callId;
  }

  function hasItem({ writer }: BackendCall): boolean {
    return writer !== undefined && writer !== 'withheld' && writer.hasItem;
  }

  function openCalls(): BackendCall[] {
    return calls.filter((call) => !call.closed);
  }

  function close(call: BackendCall, status: OutputItem['status']): void {
    if (call.writer === undefined && call.name !== '') announce(call, () => undefined);
    write(call, call.arguments.end(status === 'incomplete'));
    call.closed = true;
    if (call.writer !== undefined && call.writer !== 'withheld') call.writer.close(status);
  }
}
