import type { CallWriter } from './call-writer.ts';
import type { CallPiece } from './chunk.ts';
import type { CallId } from '../../contract/ids.ts';
import { createJsonEnd, type JsonEnd } from './json-end.ts';

/** A tool call of the backend, put together from its pieces. */
export interface BackendCall {
  readonly index: number | undefined;
  readonly backendId: string;
  name: string;
  arguments: string;
  /** Follows `arguments`, so that nobody has to parse them over and over. */
  readonly argumentsEnd: JsonEnd;
  /** The read of the backend's chunks that brought its last piece. */
  lastChunk: number;
  /** Tells the client of it, from when its name is known. `withheld`: the client is not to see it. */
  writer: CallWriter | 'withheld' | undefined;
  /** As the client knows it, from when it is told of the call. */
  callId: CallId | undefined;
  /** What the backend has attached to it. */
  extraContent: Record<string, unknown> | undefined;
  /** Its item is done. */
  closed: boolean;
}

/** The call that this piece begins, before anything of its arguments. */
export function beginCall({ index, id, name }: CallPiece): BackendCall {
  return {
    index,
    backendId: id,
    name,
    arguments: '',
    argumentsEnd: createJsonEnd(),
    lastChunk: 0,
    writer: undefined,
    callId: undefined,
    extraContent: undefined,
    closed: false,
  };
}

/**
 * Finds the call which a piece belongs to, or undefined when it begins another one. Backends leave out the index or the id,
 * repeat the id or the name in every piece, give each piece an id of its own, or put two calls under one index.
 */
export function findCall(
  calls: readonly BackendCall[],
  piece: CallPiece,
  chunkNumber: number,
): BackendCall | undefined {
  const sameIndex = (call: BackendCall) => piece.index === undefined || call.index === piece.index;
  const candidate =
    (piece.id === '' ? undefined : calls.findLast((call) => sameIndex(call) && call.backendId === piece.id)) ??
    calls.findLast(sameIndex);
  return candidate === undefined || beginsAnother(candidate, piece, chunkNumber) ? undefined : candidate;
}

/** Only a piece with a name can begin a call; the rest is judged by what the call at hand can still take. */
function beginsAnother(call: BackendCall, piece: CallPiece, chunkNumber: number): boolean {
  if (piece.name === '' || call.name === '') return false;
  const otherId = piece.id !== '' && piece.id !== call.backendId;
  // Without an index the id is all that tells calls apart.
  if (piece.index === undefined && otherId) return true;
  // One chunk with two named pieces holds two calls, unless both carry the same id.
  if (call.lastChunk === chunkNumber && (otherId || piece.id === '')) return true;
  const otherName = piece.name !== call.name;
  // After complete arguments nothing valid can follow: a repeated name is the same call, said again or with nothing new.
  if (call.argumentsEnd.reached) {
    return otherId || otherName || (piece.arguments !== '' && !isRepetition(call, piece));
  }
  // A call without arguments so far is followed by another when the name differs.
  return otherName && (call.arguments === '' || otherId);
}

/** Some backends send the whole call once more at its end. */
export function isRepetition(call: BackendCall, piece: CallPiece): boolean {
  return (
    piece.id !== '' && piece.id === call.backendId && piece.arguments === call.arguments && call.argumentsEnd.reached
  );
}
