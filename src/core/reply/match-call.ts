import type { CallWriter } from './call-writer.ts';
import type { CallPiece } from './chunk.ts';
import type { CallId } from '../../contract/ids.ts';
import type { CollectedState } from './reply-state.ts';
import { createJsonEnd, type JsonEnd } from './json-end.ts';

export interface BackendCall {
  readonly index: number | undefined;
  readonly backendId: string;
  name: string;
  arguments: string;
  /** Follows `arguments`, so that they need not be parsed again with every piece. */
  argumentsEnd: JsonEnd;
  /** What the client is not told yet, because real arguments may take its place. */
  held: string;
  lastChunk: number;
  /** `withheld` means that the client does not get the call. */
  writer: CallWriter | 'withheld' | undefined;
  callId: CallId | undefined;
  readonly state: CollectedState;
  closed: boolean;
}

export function beginCall({ index, id, name }: CallPiece): BackendCall {
  return {
    index,
    backendId: id,
    name,
    arguments: '',
    argumentsEnd: createJsonEnd(),
    held: '',
    lastChunk: 0,
    writer: undefined,
    callId: undefined,
    state: {},
    closed: false,
  };
}

export interface CallList {
  readonly all: readonly BackendCall[];
  add(call: BackendCall): void;
  /** Returns the last call with the index and the id of the piece, where it has them. */
  findLast(piece: Pick<CallPiece, 'index' | 'id'>): BackendCall | undefined;
}

/** A backend may send many pieces at once, so none of them is compared with all calls. */
export function createCallList(): CallList {
  const all: BackendCall[] = [];
  const last = new Map<string, BackendCall>();
  const keyOf = (index: number | undefined, id: string): string => `${index ?? ''}:${id}`;
  return {
    all,
    add(call) {
      const { index, backendId } = call;
      all.push(call);
      for (const at of [undefined, index]) for (const id of ['', backendId]) last.set(keyOf(at, id), call);
    },
    findLast: ({ index, id }) => last.get(keyOf(index, id)),
  };
}

/**
 * Returns the call of a piece; undefined when the piece begins another call. Backends leave out the
 * index or the id, repeat the id or the name in every piece, give each piece an id of its own, or
 * use one index for two calls.
 */
export function findCall(calls: CallList, piece: CallPiece, chunkNumber: number): BackendCall | undefined {
  const candidate = calls.findLast(piece) ?? calls.findLast({ index: piece.index, id: '' });
  return candidate === undefined || beginsAnother(candidate, piece, chunkNumber) ? undefined : candidate;
}

function beginsAnother(call: BackendCall, piece: CallPiece, chunkNumber: number): boolean {
  if (piece.name === '' || call.name === '') return false;
  const otherId = piece.id !== '' && piece.id !== call.backendId;
  // Without an index only the id distinguishes calls.
  if (piece.index === undefined && otherId) return true;
  // One chunk with two named pieces contains two calls, unless both have the same id.
  if (call.lastChunk === chunkNumber && (otherId || piece.id === '')) return true;
  const otherName = piece.name !== call.name;
  // Nothing valid can follow complete arguments, so a repeated name is the same call.
  if (call.argumentsEnd.reached) {
    return otherId || otherName || (piece.arguments !== '' && !isRepetition(call, piece));
  }
  // After a call without arguments another name begins another call.
  return otherName && (call.arguments === '' || otherId);
}

/** Whether the piece repeats the whole call, as some backends do at its end. */
export function isRepetition(call: BackendCall, piece: CallPiece): boolean {
  return (
    piece.id !== '' && piece.id === call.backendId && piece.arguments === call.arguments && call.argumentsEnd.reached
  );
}
