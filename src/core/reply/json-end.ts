import { endOfString, isEscaped, isSpace, QUOTE } from '../json.ts';
import type { Writable } from '../writable.ts';

export interface JsonEnd {
  feed(piece: string): void;
  readonly reached: boolean;
}

/** Follows a JSON object that comes in pieces. Any other text never reaches an end. */
export function createJsonEnd(): JsonEnd {
  let depth = 0;
  let inString = false;
  let escaped = false;
  let state: 'before' | 'inside' | 'after' | 'broken' = 'before';

  const end: Writable<JsonEnd> = {
    feed(piece) {
      if (piece === '') return;
      const text = escaped ? piece.slice(1) : piece;
      for (let at = 0; at < text.length; at += 1) {
        if (inString) {
          // The native search skips what is long.
          at = endOfString(text, at);
          inString = at === text.length;
        } else step(text.charCodeAt(at));
      }
      escaped = inString && isEscaped(text, text.length);
      end.reached = state === 'after';
    },
    reached: false,
  };
  return end;

  function step(code: number): void {
    if (state === 'inside') stepInside(code);
    else stepOutside(code);
  }

  function stepOutside(code: number): void {
    if (isSpace(code)) return;
    const opens = state === 'before' && code === OPEN_BRACE;
    state = opens ? 'inside' : 'broken';
    depth = 1;
  }

  function stepInside(code: number): void {
    if (code === QUOTE) inString = true;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1;
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
    if (depth === 0) state = 'after';
  }
}

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
