import { objectInString } from '../json-size.ts';
import { createJsonEnd, jsonObjectIn } from './json-end.ts';
import type { Writable } from '../writable.ts';

/**
 * The arguments of one call. Most backends send them in pieces. Some send all of them so far in
 * each chunk (NousResearch/hermes-agent PR#35718), or say them again at the end.
 */
export interface CallArguments {
  /** Returns what is new. A piece waits while it can be all that came so far, or more of it. */
  feed(piece: string): string;
  /** Returns what still waits. `isCut` says that more was to come. */
  end(isCut: boolean): string;
  /** Whether the piece can belong to them, because they go on or are said again. */
  canTake(piece: string): boolean;
  /** Whether the piece says them again, or begins to. */
  repeats(piece: string): boolean;
  /** Returns the beginning of them that was said again, which belongs to others. */
  takeRepeated(): string;
  /** What `feed` and `end` have returned. */
  readonly emitted: string;
  /** Of what was emitted and what waits, in UTF-16 code units. */
  readonly length: number;
  /** Whether they are a whole object, which nothing can follow. */
  readonly isWhole: boolean;
  /** Whether they are `{}` so far, and may be replaced by the real ones. */
  isPlaceholder(): boolean;
  /** Whether they are whole if nothing follows. */
  canEnd(): boolean;
}

/** Bedrock sends this first, and then the real arguments (openai/openai-agents-js PR#712). */
const NO_ARGUMENTS = '{}';
/** Each piece that waits is read again with those before it. */
const MAX_WAITING = 16;

export function createCallArguments(): CallArguments {
  const end = createJsonEnd();
  let waiting: string[] = [];
  let isSoFar = false;
  /** How many characters of whole arguments have come again. */
  let repeated = 0;

  const self: Writable<CallArguments> = {
    feed(piece) {
      if (piece === '') return '';
      if (isRepeating(piece)) {
        repeated = (repeated + piece.length) % self.emitted.length;
        return '';
      }
      if (isPlaceholder() && piece.startsWith('{')) waiting = [];
      if (self.emitted === '' && waiting.length === 0 && piece === NO_ARGUMENTS) return wait(piece);
      return isSoFar ? readSoFar(piece) : readPiece(piece);
    },
    end(isCut) {
      if (isPlaceholder()) return '';
      // More would have come to end the object that is around a real piece.
      return !isCut && isWaitingWhole() ? emitSoFar(waiting.at(-1) ?? '') : emit('');
    },
    canTake: (piece) => !self.isWhole || piece.trim() === '' || isPlaceholder() || isRepeating(piece),
    repeats: (piece) => isRepeating(piece) || (isPlaceholder() && piece === NO_ARGUMENTS),
    takeRepeated() {
      const beginning = self.emitted.slice(0, repeated);
      repeated = 0;
      return beginning;
    },
    emitted: '',
    length: 0,
    isWhole: false,
    isPlaceholder,
    canEnd: () => self.isWhole || isWaitingWhole() || objectInString(self.emitted) !== undefined,
  };
  return self;

  function isRepeating(piece: string): boolean {
    return end.reached && self.emitted.startsWith(piece, repeated);
  }

  function isPlaceholder(): boolean {
    return self.emitted === '' && waiting.length > 0;
  }

  function isWaitingWhole(): boolean {
    return jsonObjectIn(waiting.at(-1) ?? '') === 'whole';
  }

  function readSoFar(piece: string): string {
    if (piece.startsWith(self.emitted)) return emitSoFar(piece);
    return self.emitted.startsWith(piece) ? '' : emit(piece);
  }

  function readPiece(piece: string): string {
    const before = waiting.at(-1) ?? self.emitted;
    // Nearly every piece is shorter than all before it, and is not compared.
    const canBeSoFar = before !== '' && piece.length >= before.length && piece.startsWith(before);
    if (!canBeSoFar || waiting.length === MAX_WAITING || jsonObjectIn(piece) === 'broken') return emit(piece);
    // Real pieces are valid JSON one after the other, so none is taken for all of them.
    switch (jsonObjectIn([self.emitted, ...waiting, piece].join(''))) {
      case 'broken':
        isSoFar = true;
        return emitSoFar(piece);
      case 'begun':
        return wait(piece);
      case 'whole':
        return emit(piece);
    }
  }

  function wait(piece: string): string {
    waiting.push(piece);
    self.length = self.emitted.length + waiting.join('').length;
    self.isWhole = isPlaceholder();
    return '';
  }

  function emitSoFar(all: string): string {
    waiting = [];
    repeated = 0;
    return emit(all.slice(self.emitted.length));
  }

  function emit(piece: string): string {
    const isAlone = repeated === 0 && waiting.length === 0;
    const more = isAlone ? piece : self.takeRepeated() + waiting.join('') + piece;
    if (!isAlone) waiting = [];
    end.feed(more);
    self.emitted += more;
    self.length = self.emitted.length;
    self.isWhole = end.reached;
    return more;
  }
}
