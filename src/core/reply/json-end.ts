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

/**
 * Returns whether the text is a whole JSON object, the beginning of one, or neither. It looks at the
 * structure alone, because models write odd strings and numbers.
 */
export function jsonObjectIn(text: string): 'whole' | 'begun' | 'broken' {
  const ends: string[] = [];
  let next = 'object';
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (isSpace(text.charCodeAt(at))) continue;
    const canBeValue = next.startsWith('value');
    switch (character) {
      case '{':
        if (!canBeValue && next !== 'object') return 'broken';
        ends.push('}');
        next = 'name or end';
        break;
      case '[':
        if (!canBeValue) return 'broken';
        ends.push(']');
        next = 'value or end';
        break;
      case '}':
      case ']':
        if (!next.endsWith('end') || ends.pop() !== character) return 'broken';
        next = ends.length === 0 ? 'nothing' : 'more or end';
        break;
      case ',':
        if (next !== 'more or end') return 'broken';
        next = ends.at(-1) === '}' ? 'name' : 'value';
        break;
      case ':':
        if (next !== 'colon') return 'broken';
        next = 'value';
        break;
      case '"':
        if (!canBeValue && !next.startsWith('name')) return 'broken';
        at = endOfString(text, at + 1);
        next = canBeValue ? 'more or end' : 'colon';
        break;
      default:
        if (!canBeValue) return 'broken';
        SCALAR.lastIndex = at;
        at += (SCALAR.exec(text)?.[0].length ?? 1) - 1;
        next = 'more or end';
    }
  }
  return next === 'nothing' ? 'whole' : 'begun';
}

const SCALAR = /[^\s"{}[\],:]+/y;
