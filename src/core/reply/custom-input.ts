import { endOfString, isEscaped } from '../json.ts';
import { isHighSurrogate } from '../well-formed.ts';

export interface CustomInputReader {
  feed(piece: string): string;
  end(): string;
}

export const INPUT_PARAMETER = 'input';

type State =
  | { readonly kind: 'start'; readonly held: string }
  /** `held` is an incomplete escape, or half a surrogate pair. */
  | { readonly kind: 'string'; readonly held: string }
  | { readonly kind: 'after' }
  | { readonly kind: 'other'; readonly held: string };

/** In UTF-16 code units. A longer opening is read as a whole at the end. */
const MAX_OPENING = 256;
const OPENING = /^\s*\{\s*"input"\s*:\s*"/;
const OPENING_SO_FAR = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/;

/**
 * Reads the text of a `custom` call from its JSON arguments. Some models ignore the schema and
 * write bare text or another name, so their input is found only at the end.
 */
export function createCustomInputReader(): CustomInputReader {
  let state: State = { kind: 'start', held: '' };

  return {
    feed(piece) {
      switch (state.kind) {
        case 'start':
          return start(state.held + piece);
        case 'string':
          return read(state.held + piece);
        case 'after':
          return '';
        case 'other':
          state = { kind: 'other', held: state.held + piece };
          return '';
      }
    },
    end() {
      const last = state;
      state = { kind: 'after' };
      if (last.kind === 'start' || last.kind === 'other') return textOfWhole(last.held);
      // Half a surrogate pair is part of the text; half an escape is not.
      return last.kind === 'string' && !last.held.includes('\\') ? last.held : '';
    },
  };

  function start(text: string): string {
    const opening = OPENING.exec(text.slice(0, MAX_OPENING));
    if (opening !== null) return read(text.slice(opening[0].length));
    state = { kind: text.length < MAX_OPENING && OPENING_SO_FAR.test(text) ? 'start' : 'other', held: text };
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
    state = { kind: 'string', held: ready.slice(pairs) + text.slice(end.at) };
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

/** Models write line breaks unescaped. JSON.parse refuses them, so each escape is decoded alone. */
function unescape(text: string): string {
  if (!text.includes(`\\`)) return text;
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (escape, hex: string | undefined, letter: string) =>
    // An invalid escape, such as the \d of a regular expression, stays as it is.
    hex === undefined ? (ESCAPES[letter] ?? escape) : String.fromCharCode(parseInt(hex, 16)),
  );
}

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

function textOfWhole(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return value;
    if (typeof value !== 'object' || value === null) return text;
    const fields = Object.entries(value);
    const [, named] =
      fields.find(([name]) => name === INPUT_PARAMETER) ?? (fields.length === 1 ? fields[0] : undefined) ?? [];
    return typeof named === 'string' ? named : text;
  } catch {
    return textOfLooseObject(text) ?? text;
  }
}

const LOOSE_OPENING = /^\s*\{\s*"[^"\\]*"\s*:\s*"/;

function textOfLooseObject(text: string): string | undefined {
  const opening = LOOSE_OPENING.exec(text);
  if (opening === null) return undefined;
  const string = text.slice(opening[0].length);
  const { at, closed } = endOfInput(string);
  return closed && !/^"\s*(?:\}\s*)?$/.test(string.slice(at)) ? undefined : unescape(string.slice(0, at));
}
