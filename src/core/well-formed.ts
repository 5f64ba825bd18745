export interface PairReader {
  /** Returns the text so far that can be passed on. Half of a pair waits for its other half. */
  feed(text: string): string;
  /** Returns what still waits, which is the replacement character or nothing. */
  end(): string;
}

/** Strict JSON readers refuse a delta with half of a surrogate pair, so no delta has one. */
export function createPairReader(): PairReader {
  let pending = '';
  return {
    feed(text) {
      const whole = pending + text;
      const endsInHalf = isHighSurrogate(whole.charCodeAt(whole.length - 1));
      pending = endsInHalf ? whole.slice(-1) : '';
      return (endsInHalf ? whole.slice(0, -1) : whole).toWellFormed();
    },
    end() {
      const rest = pending.toWellFormed();
      pending = '';
      return rest;
    },
  };
}

/** Whether the UTF-16 code unit is the first half of a surrogate pair. */
export function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** Returns valid JSON with the replacement character for each escape of half a surrogate pair. */
export function toWellFormedJson(json: string): string {
  if (!SURROGATE.test(json)) return json;
  const pieces: string[] = [];
  let copied = 0;
  // `replaceAll` would call a function for each escape, of which there may be millions.
  for (let at = json.indexOf('\\'); at >= 0;) {
    const length = lengthOfSurrogates(json, at);
    if (length === ESCAPE_LENGTH) {
      pieces.push(json.slice(copied, at), '\ufffd');
      copied = at + length;
    }
    at = json.indexOf('\\', at + length);
  }
  return pieces.join('') + json.slice(copied);
}

const SURROGATE = /\\u[dD][89a-fA-F]/;
const PAIR = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}/y;
const HALF = /\\u[dD][89a-fA-F][\da-fA-F]{2}/y;
const ESCAPE_LENGTH = 6;

/** Returns 12 for a pair, 6 for half of one, and 2 for any other escape. */
function lengthOfSurrogates(json: string, at: number): number {
  if (json[at + 1] !== 'u') return 2;
  PAIR.lastIndex = at;
  if (PAIR.test(json)) return 2 * ESCAPE_LENGTH;
  HALF.lastIndex = at;
  return HALF.test(json) ? ESCAPE_LENGTH : 2;
}
