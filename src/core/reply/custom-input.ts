import { endOfString, isEscaped } from '../json.ts';

/** Takes the text of a free-form (`custom`) tool call out of the JSON arguments in which a chat backend sends it. */
export interface CustomInputReader {
  /** Takes a piece of the arguments, cut anywhere, and returns the text that it adds. */
  feed(piece: string): string;
  /** The arguments are over: returns what was held back. */
  end(): string;
}

/** The one parameter of the function that stands in for a custom tool. */
export const INPUT_PARAMETER = 'input';

type State =
  /** Too little has come to tell whether this is `{"input": "…`. */
  | { readonly kind: 'start'; readonly held: string }
  /** In the string; `held` is an escape, or half a surrogate pair, that is not complete yet. */
  | { readonly kind: 'string'; readonly held: string }
  | { readonly kind: 'after' }
  /** Not the expected object, so it can only be judged as a whole. */
  | { readonly kind: 'other'; readonly held: string };

/** In UTF-16 code units. What begins with more white space than this is judged as a whole. */
const MAX_OPENING = 256;
const OPENING = /^\s*\{\s*"input"\s*:\s*"/;
/** What can still become the opening when more of it comes. */
const OPENING_SO_FAR = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/;

/** Models that ignore the schema and write the text bare, or under another name, are understood at the end. */
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
      // Half a surrogate pair is still what the model said; half an escape is nothing.
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

/** Where the string ends, or the last place up to which every escape is complete. */
function endOfInput(text: string): { readonly at: number; readonly closed: boolean } {
  const at = endOfString(text, 0);
  if (at < text.length) return { at, closed: true };
  const open = OPEN_ESCAPE.exec(text);
  const isOpen = open !== null && !isEscaped(text, open.index);
  return { at: isOpen ? open.index : at, closed: false };
}

/** What can still become an escape when more of it comes. */
const OPEN_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/;

/** Models write line breaks into the string as they are, which JSON.parse would refuse, so each escape is undone by itself. */
function unescape(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (escape, hex: string | undefined, letter: string) =>
    // What is no escape, such as the \d of a regular expression, is meant as it stands.
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

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

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

/** An object of one string that JSON.parse does not take: it has line breaks as they are, or it is cut. */
function textOfLooseObject(text: string): string | undefined {
  const opening = LOOSE_OPENING.exec(text);
  if (opening === null) return undefined;
  const string = text.slice(opening[0].length);
  const { at, closed } = endOfInput(string);
  return closed && !/^"\s*\}?\s*$/.test(string.slice(at)) ? undefined : unescape(string.slice(0, at));
}
