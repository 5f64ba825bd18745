export interface PairReader {
  /** Returns the text so far that can be passed on. Half of a pair waits for its other half. */
  feed(text: string): string;
  /** Returns what still waits, which is the replacement character or nothing. */
  end(): string;
}

/** Strict JSON readers refuse a delta with half of a surrogate pair, so no delta has one. */
export function createPairReader(): PairReader {
  let held = '';
  return {
    feed(text) {
      const whole = held + text;
      const endsInHalf = isHighSurrogate(whole.charCodeAt(whole.length - 1));
      held = endsInHalf ? whole.slice(-1) : '';
      return (endsInHalf ? whole.slice(0, -1) : whole).toWellFormed();
    },
    end() {
      const rest = held.toWellFormed();
      held = '';
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
  return SURROGATE.test(json) ? json.replaceAll(ESCAPES, (escape) => (LONE.test(escape) ? '\ufffd' : escape)) : json;
}

const SURROGATE = /\\u[dD][89a-fA-F]/;
const ESCAPES = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\[^u]/g;
const LONE = /^\\u[dD][89a-fA-F]..$/;
