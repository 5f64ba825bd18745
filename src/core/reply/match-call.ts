import { createCallArguments, type CallArguments } from './call-arguments.ts';
import type { CallWriter } from './call-writer.ts';
import type { CallPiece } from './chunk.ts';
import type { CallId } from '../../contract/ids.ts';
import type { CollectedState } from './reply-state.ts';

export interface BackendCall {
  readonly backendId: string;
  readonly choice: number;
  readonly index: number | undefined;
  name: string;
  readonly arguments: CallArguments;
  lastChunk: number;
  /** Whether its name or its id came again after its arguments. */
  isSaidAgain: boolean;
  /** `withheld` means that the client does not get the call. */
  writer: CallWriter | 'withheld' | undefined;
  callId: CallId | undefined;
  readonly state: CollectedState;
  closed: boolean;
}

export function beginCall({ id, choice, index, name }: CallPiece): BackendCall {
  return {
    backendId: id,
    choice,
    index,
    name,
    arguments: createCallArguments(),
    lastChunk: 0,
    isSaidAgain: false,
    writer: undefined,
    callId: undefined,
    state: {},
    closed: false,
  };
}

type CallPosition = Pick<CallPiece, 'choice' | 'index' | 'id'>;

export interface CallList {
  readonly all: readonly BackendCall[];
  add(call: BackendCall): void;
  /** Lets later pieces at the index of this one find the call, if they find no other there. */
  addIndex(call: BackendCall, piece: CallPosition): void;
  /** Returns the last call with the index and the id of the piece, where it has them. */
  findLast(piece: CallPosition): BackendCall | undefined;
  findLastNamed(name: string): BackendCall | undefined;
}

/** Backends are not trusted, and a call takes up to four. */
const MAX_KEYS = 8192;

/** A backend may send many pieces at once, so none of them is compared with all calls. */
export function createCallList(): CallList {
  const all: BackendCall[] = [];
  const last = new Map<string, BackendCall>();
  const lastNamed = new Map<string, BackendCall>();
  const keyOf = ({ choice, index, id }: CallPosition): string =>
    choice === 0 || index === undefined ? `${index ?? ''}:${id}` : `${choice}/${index}:${id}`;
  return {
    all,
    add(call) {
      const { choice, backendId } = call;
      all.push(call);
      if (call.name !== '') lastNamed.set(call.name, call);
      for (const index of [undefined, call.index])
        for (const id of ['', backendId]) last.set(keyOf({ choice, index, id }), call);
    },
    addIndex(call, { choice, index }) {
      if (choice === call.choice && index === call.index) return;
      const key = keyOf({ choice, index, id: '' });
      if (!last.has(key) && last.size < MAX_KEYS) last.set(key, call);
    },
    findLast: (position) => last.get(keyOf(position)),
    findLastNamed: (name) => lastNamed.get(name),
  };
}

/**
 * Returns the call of a piece; undefined when the piece begins another call. Backends leave out the
 * index or the id, repeat the id or the name in every piece, give each piece an id of its own, use
 * one index for two calls or several for one (mudler/LocalAI#9722).
 */
export function findCall(calls: CallList, piece: CallPiece, chunkNumber: number): BackendCall | undefined {
  const candidate = findCandidate(calls, piece);
  return candidate === undefined || beginsAnother(candidate, piece, chunkNumber) ? undefined : candidate;
}

function findCandidate(calls: CallList, piece: CallPiece): BackendCall | undefined {
  const { choice, index } = piece;
  const atIndex = calls.findLast({ choice, index, id: '' });
  if (piece.id !== '') return calls.findLast(piece) ?? findAtOtherIndex(calls, piece) ?? atIndex;
  if (piece.name !== '') return atIndex ?? findInOtherChoice(calls, piece);
  // A piece without name and id goes on with some call, also where its index counts the pieces.
  const last = calls.all.at(-1);
  const canTake = atIndex?.arguments.canTake(piece.arguments) === true;
  return !canTake && last?.arguments.isWhole === false ? last : atIndex;
}

function findAtOtherIndex(calls: CallList, piece: CallPiece): BackendCall | undefined {
  const call = calls.findLast({ ...piece, index: undefined });
  return piece.name === '' || call?.name === '' || call?.name === piece.name ? call : undefined;
}

function findInOtherChoice(calls: CallList, { choice, name, arguments: given }: CallPiece): BackendCall | undefined {
  const call = calls.findLastNamed(name);
  const isSame = given !== '' && call?.arguments.emitted === given;
  return isSame && call.choice !== choice ? call : undefined;
}

function beginsAnother(call: BackendCall, piece: CallPiece, chunkNumber: number): boolean {
  if (piece.name === '' || call.name === '') return false;
  const otherId = piece.id !== '' && piece.id !== call.backendId;
  // Without an index only the id distinguishes calls.
  if (piece.index === undefined && otherId) return true;
  // One chunk with two named pieces contains two calls, unless both have the same id.
  if (call.lastChunk === chunkNumber && (otherId || piece.id === '') && piece.choice === call.choice) return true;
  const otherName = piece.name !== call.name;
  // Nothing valid can follow complete arguments, so a repeated name is the same call.
  if (call.arguments.isWhole) return otherId || otherName || !isRepetition(call, piece);
  // After a call without arguments another name begins another call.
  return otherName && (otherId || call.arguments.length === 0);
}

/** Without an index only the id says that equal arguments are those of one call, or the real ones of a placeholder. */
function isRepetition(call: BackendCall, piece: CallPiece): boolean {
  if (piece.arguments === '') return true;
  if (piece.id === '' && piece.index === undefined) return false;
  return call.arguments.repeats(piece.arguments) || (call.backendId !== '' && call.arguments.isPlaceholder());
}
