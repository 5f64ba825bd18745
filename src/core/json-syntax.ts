/** The message of JSON.parse cannot be used, since it quotes the text, which may be a prompt. */

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or end';

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Returns the position of the first wrong character, or the length of the text. */
export function findSyntaxError(text: string): number {
  const closers: string[] = [];
  let expected: Expected = 'value';
  let at = skip(SPACE, text, 0);

  while (at < text.length) {
    const char = text.charAt(at);
    let next = at + 1;
    if ((char === ']' && expected === 'value or ]') || (char === '}' && expected === 'key or }')) {
      closers.pop();
      expected = ', or end';
    } else if (expected === 'value' || expected === 'value or ]') {
      if (char === '[' || char === '{') {
        closers.push(char === '[' ? ']' : '}');
        expected = char === '[' ? 'value or ]' : 'key or }';
      } else {
        const end = endOfScalar(text, at);
        if (end.broken) return end.at;
        next = end.at;
        expected = ', or end';
      }
    } else if (expected === 'key' || expected === 'key or }') {
      if (char !== '"') return at;
      const end = endOfString(text, at);
      if (end.broken) return end.at;
      next = end.at;
      expected = ':';
    } else if (expected === ':') {
      if (char !== ':') return at;
      expected = 'value';
    } else if (char === ',' && closers.length > 0) {
      expected = closers.at(-1) === ']' ? 'value' : 'key';
    } else {
      if (char !== closers.pop()) return at;
    }
    at = skip(SPACE, text, next);
  }
  return text.length;
}

interface End {
  readonly at: number;
  readonly broken: boolean;
}

function endOfScalar(text: string, start: number): End {
  if (text.charAt(start) === '"') return endOfString(text, start);
  const end = Math.max(skip(NUMBER, text, start), skip(WORD, text, start));
  return { at: end, broken: end === start };
}

function endOfString(text: string, start: number): End {
  let at = start + 1;
  while (at < text.length) {
    const char = text.charAt(at);
    if (char === '"') return { at: at + 1, broken: false };
    if (char < ' ') return { at, broken: true };
    const next = char === '\\' ? skip(ESCAPE, text, at) : at + 1;
    if (next === at) return { at, broken: true };
    at = next;
  }
  return { at: text.length, broken: true };
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
