import { BACKSLASH, isSpace, QUOTE } from '../json.ts';
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
      for (let at = 0; at < piece.length; at += 1) step(piece.charCodeAt(at));
      end.reached = state === 'after';
    },
    reached: false,
  };
  return end;

  function step(code: number): void {
    if (state !== 'inside') stepOutside(code);
    else if (inString) stepInString(code);
    else stepInside(code);
  }

  function stepOutside(code: number): void {
    if (isSpace(code)) return;
    const opens = state === 'before' && code === OPEN_BRACE;
    state = opens ? 'inside' : 'broken';
    depth = 1;
  }

  function stepInString(code: number): void {
    if (escaped) escaped = false;
    else if (code === BACKSLASH) escaped = true;
    else if (code === QUOTE) inString = false;
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
