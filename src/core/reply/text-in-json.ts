import { BACKSLASH, QUOTE } from '../json.ts';

const COLON = 0x3a;
const LETTER_U = 0x75;
/** Of an escape, the letter comes next. */
const LETTER = 5;
const DIGITS = 4;

/** Returns what measures JSON that comes in pieces: the UTF-16 code units so far in strings that are no names. */
export function createTextMeter(): (bytes: Uint8Array) => number {
  let seen = { length: 0, lengthBefore: 0, isInString: false, ofEscape: 0 };

  return (bytes) => {
    // As variables of this call they take a third of the time.
    let { length, lengthBefore, isInString, ofEscape } = seen;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (!isInString) {
        if (byte === COLON) length = lengthBefore;
        if (byte !== QUOTE) continue;
        isInString = true;
        lengthBefore = length;
      } else if (ofEscape > 0) {
        ofEscape = ofEscape < LETTER ? ofEscape - 1 : byte === LETTER_U ? DIGITS : 0;
      } else if (byte === QUOTE) {
        isInString = false;
      } else {
        if (byte === BACKSLASH) ofEscape = LETTER;
        length += unitsFrom(byte);
      }
    }
    seen = { length, lengthBefore, isInString, ofEscape };
    return length;
  };
}

/** The first byte of a character counts for all of it, in UTF-8. */
function unitsFrom(byte: number): number {
  if ((byte & 0xc0) === 0x80) return 0;
  return byte >= 0xf0 ? 2 : 1;
}
