import { BACKSLASH, endOfString, isEscaped, isList, isObject } from '../json.ts';
import { readBoundedJson } from '../json-size.ts';
import { isHighSurrogate } from '../well-formed.ts';

export interface CustomInputReader {
  feed(piece: string): string;
  end(): string;
}

export const INPUT_PARAMETER = 'input';

/**
 * In UTF-16 code units. Longer arguments are not parsed: those of a custom call are its input, if they
 * are no single string, and those of a built-in call are passed on as they are.
 */
export const MAX_ARGUMENTS = 1024 * 1024;

type State =
  | { readonly kind: 'start'; readonly buffered: string }
  /** `held` is an incomplete escape, or half a surrogate pair. */
  | { readonly kind: 'string'; readonly buffered: string }
  | { readonly kind: 'after' }
  | { readonly kind: 'other'; readonly buffered: string };

/** In UTF-16 code units. A longer opening is read as a whole at the end. */
const MAX_OPENING = 256;
const OPENING = /^\s*\{\s*"input"\s*:\s*"/;
const OPENING_SO_FAR = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/;

/**
 * Reads the text of a `custom` call from its JSON arguments. Some models ignore the schema and
 * write bare text or another name, so their input is found only at the end.
 */
export function createCustomInputReader(): CustomInputReader {
  let state: State = { kind: 'start', buffered: '' };

  return {
    feed(piece) {
      switch (state.kind) {
        case 'start':
          return start(state.buffered + piece);
        case 'string':
          return read(state.buffered + piece);
        case 'after':
          return '';
        case 'other':
          state = { kind: 'other', buffered: state.buffered + piece };
          return '';
      }
    },
    end() {
      const last = state;
      state = { kind: 'after' };
      if (last.kind === 'start' || last.kind === 'other') return textOfWhole(last.buffered);
      // Half a surrogate pair is part of the text; half an escape is not.
      return last.kind === 'string' && !last.buffered.includes('\\') ? last.buffered : '';
    },
  };

  function start(text: string): string {
    const opening = OPENING.exec(text.slice(0, MAX_OPENING));
    if (opening !== null) return read(text.slice(opening[0].length));
    state = { kind: text.length < MAX_OPENING && OPENING_SO_FAR.test(text) ? 'start' : 'other', buffered: text };
    return '';
  }

  function read(text: string): string {
    const end = endOfInput(text);
    if (end.closed) {
      state = { kind: 'after' };
      return unescape(text.slice(0, end.at));
    }
    const ready = unescape(text.slice(0, end.at));
    const pairs = ready.length - (isHighSurrogate(ready.charCodeAt(ready.length - 1)) ? 1 : 0);
    state = { kind: 'string', buffered: ready.slice(pairs) + text.slice(end.at) };
    return ready.slice(0, pairs);
  }
}

/** Returns where the string ends, or the last index up to which every escape is complete. */
function endOfInput(text: string): { readonly at: number; readonly closed: boolean } {
  const at = endOfString(text, 0);
  if (at < text.length) return { at, closed: true };
  const open = text.lastIndexOf('\\');
  const isOpen = open >= 0 && !isEscaped(text, open) && OPEN_ESCAPE.test(text.slice(open));
  return { at: isOpen ? open : at, closed: false };
}

const OPEN_ESCAPE = /^\\(?:u[0-9a-fA-F]{0,3})?$/;

/**
 * Models write line breaks unescaped. JSON.parse refuses them, so each escape is decoded alone. A
 * callback for each of millions of escapes would hold the process for a second.
 */
function unescape(text: string): string {
  if (!text.includes(`\\`)) return text;
  const utf16 = Buffer.allocUnsafe(2 * text.length);
  let length = 0;
  for (let at = 0; at < text.length; at += 1) {
    let code = text.charCodeAt(at);
    if (code === BACKSLASH) {
      const letter = text.charCodeAt(at + 1);
      const number = letter === LETTER_U ? hexAt(text, at + 2) : undefined;
      const meant = number ?? ESCAPES[letter];
      // An invalid escape, such as the \d of a regular expression, stays as it is.
      if (meant !== undefined) {
        code = meant;
        at += number === undefined ? 1 : 5;
      }
    }
    utf16[length] = code & 0xff;
    utf16[length + 1] = code >> 8;
    length += 2;
  }
  return utf16.toString('utf16le', 0, length);
}

/** Returns the value of four hexadecimal digits; undefined for anything else. */
function hexAt(text: string, start: number): number | undefined {
  let value = 0;
  for (let at = start; at < start + 4; at += 1) {
    const digit = HEX_DIGITS[text.charCodeAt(at)];
    if (digit === undefined) return undefined;
    value = value * 16 + digit;
  }
  return value;
}

const LETTER_U = 0x75;
/** By the code of the digit. */
const HEX_DIGITS: readonly (number | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  const digit = '0123456789abcdef'.indexOf(String.fromCharCode(code).toLowerCase());
  return digit < 0 ? undefined : digit;
});
/** By the code of the letter after the backslash. */
const ESCAPES: readonly (number | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  const at = String.raw`"'\/bfnrt`.indexOf(String.fromCharCode(code));
  return at < 0 ? undefined : `"'\\/\b\f\n\r\t`.charCodeAt(at);
});

function textOfWhole(text: string): string {
  const value = text.length > MAX_ARGUMENTS ? undefined : readBoundedJson(text);
  if (value === undefined) return textOfLooseObject(text) ?? text;
  if (typeof value === 'string') return value;
  const named = isObject(value) ? namedIn(value) : isList(value) && value.length === 1 ? value[0] : undefined;
  return typeof named === 'string' ? named : text;
}

function namedIn(value: Readonly<Record<string, unknown>>): unknown {
  if (Object.hasOwn(value, INPUT_PARAMETER)) return value[INPUT_PARAMETER];
  const [name = '', ...others] = Object.keys(value);
  return others.length === 0 ? value[name] : undefined;
}

const LOOSE_OPENING = /^\s*\{\s*"[^"\\]*"\s*:\s*"/;

function textOfLooseObject(text: string): string | undefined {
  const opening = LOOSE_OPENING.exec(text);
  if (opening === null) return undefined;
  const string = text.slice(opening[0].length);
  const { at, closed } = endOfInput(string);
  return closed && !/^"\s*(?:\}\s*)?$/.test(string.slice(at)) ? undefined : unescape(string.slice(0, at));
}
