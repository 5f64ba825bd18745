/** Finds what is new in the pieces of a text, which a backend may say more than once. */
export interface TextReader {
  /** Returns what is new. `isWhole` says that the text is that of all pieces before it, and more. */
  feed(piece: string, isWhole: boolean): string;
  /** Returns the piece, which is known to be new, behind what waits. */
  add(piece: string): string;
  /** Returns what waits, where no more of the text can follow. */
  end(): string;
  /** Whether the text is all that was said so far. */
  isAll(text: string): boolean;
}

const MIN_GROWTHS = 2;
/** In characters, all pieces together. Pieces of up to four characters never agree in so many. */
const MIN_AGREED = 8;
/** In characters. A shorter text may really come twice. */
const MIN_REPEATED = 32;
const MIN_PIECES = 3;
/** Of a text that comes again, its length and so many characters are compared. */
const BEGINNING = 64;

/**
 * Most backends send a text in pieces. Some send all of it so far in each chunk
 * (QwenLM/qwen-code PR#3896), and some all of it again at the end. Every text may be real, so this
 * needs what no model writes: from the first piece on, each begins with the one before it and goes
 * on in a new way; or the last piece is as long as all before it together and begins as they do. A
 * piece that may be so waits for the next one.
 */
export function createTextReader(): TextReader {
  let mode: 'first pieces' | 'pieces' | 'so far' = 'first pieces';
  let waiting = '';
  /** The last piece, where it can be all of the text so far, and how much of that is told. */
  let latest = '';
  let known = 0;
  let growths = 0;
  let agreed = 0;
  let pieces = 0;
  let length = 0;
  let beginning = '';

  return {
    feed(piece, isWhole) {
      if (piece === '') return '';
      if (isWhole) return readWhole(piece);
      if (mode === 'so far') return readSoFar(piece);
      return mode === 'pieces' ? readPiece(piece) : readFirst(piece);
    },
    add(piece) {
      becomePieces();
      return emit(piece);
    },
    end() {
      if (waiting === '') return '';
      if (mode === 'pieces') return drop();
      becomePieces();
      return emit('');
    },
    isAll,
  };

  function readFirst(piece: string): string {
    if (latest === '') return begin(piece);
    if (!goesOn(latest, piece)) {
      becomePieces();
      return readPiece(piece);
    }
    growths += 1;
    agreed += latest.length;
    latest = piece;
    if (growths >= MIN_GROWTHS && agreed >= MIN_AGREED) {
      mode = 'so far';
      return emitSoFar();
    }
    pieces += 1;
    waiting += piece;
    return '';
  }

  function becomePieces(): void {
    mode = 'pieces';
    latest = '';
  }

  function begin(piece: string): string {
    mode = 'first pieces';
    growths = 0;
    agreed = 0;
    latest = piece;
    known = piece.length;
    return emit(piece);
  }

  function readSoFar(piece: string): string {
    if (latest.startsWith(piece)) return '';
    if (!piece.startsWith(latest)) return begin(piece);
    latest = piece;
    return emitSoFar();
  }

  function readPiece(piece: string): string {
    const canRepeat = length >= MIN_REPEATED && pieces >= MIN_PIECES && waiting === '';
    if (!canRepeat || !isAll(piece) || isPower(piece)) return emit(piece);
    waiting = piece;
    return '';
  }

  function readWhole(piece: string): string {
    if (mode === 'pieces' || piece.startsWith(latest)) drop();
    const rest = emit('');
    const isLonger = piece.length > length && piece.startsWith(beginning);
    return isLonger ? rest + emit(piece.slice(length)) : rest;
  }

  function isAll(text: string): boolean {
    return text.length === length && text.startsWith(beginning);
  }

  function emitSoFar(): string {
    const more = latest.slice(known);
    drop();
    known = latest.length;
    return emit(more);
  }

  function drop(): string {
    waiting = '';
    return '';
  }

  function emit(piece: string): string {
    const more = waiting === '' ? piece : waiting + piece;
    waiting = '';
    pieces += 1;
    length += more.length;
    if (beginning.length < BEGINNING) beginning += more.slice(0, BEGINNING - beginning.length);
    return more;
  }
}

/** Whether the piece is longer and begins with the one before, but does not only repeat it. */
function goesOn(before: string, piece: string): boolean {
  return piece.length > before.length && piece.startsWith(before) && !isPower(piece);
}

/** Whether the text is a shorter one several times. A model that is caught in a loop writes so. */
function isPower(text: string): boolean {
  return (text + text).indexOf(text, 1) < text.length;
}
