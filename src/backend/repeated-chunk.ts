import type { ChatChunk } from '../core/chat.ts';
import { onlyTextOf, type TextPiece } from '../core/reply/chunk.ts';
import { BACKSLASH, endOfString, isObject, QUOTE, readJson } from '../core/json.ts';

/**
 * Most events of a stream equal the one before but for the words of the model. Parsing only these
 * words takes a tenth of the time.
 */
export interface RepeatedChunk {
  match(text: string, at: number): RepeatedEvent | undefined;
}

export interface RepeatedEvent {
  readonly words: string;
  readonly end: number;
}

const KEYS = /"(?:content|reasoning_content|reasoning)": ?(?=")/g;
/** A model does not say this by chance. */
const PROBE = '\u0000the words\u0000';

/** In UTF-16 code units. Each place that is tried parses the whole event again. */
const MAX_EVENT = 4096;
/** Other keys hold what a backend sends beside the words, such as search results. */
const MAX_PLACES = 4;

const FIRST_PRINTABLE = 0x20;
/** V8 copies up to 12 characters. A longer slice would keep the whole text in memory. */
const MAX_WORD = 12;

/** Returns what recognises the next events like this one; undefined if it says more than words. */
export function learnRepeatedChunk(data: string, chunk: ChatChunk): RepeatedChunk | undefined {
  const piece = data.length > MAX_EVENT ? undefined : onlyTextOf(chunk);
  if (piece === undefined) return undefined;
  for (const { 0: key, index } of [...data.matchAll(KEYS)].slice(0, MAX_PLACES)) {
    const start = index + key.length;
    const end = endOfString(data, start + 1) + 1;
    const [before, after] = [data.slice(0, start), data.slice(end)];
    if (isPlaceOf(piece, before, after)) return toRepeatedChunk(`data: ${before}`, `${after}\n\n`);
  }
  return undefined;
}

function isPlaceOf({ kind }: TextPiece, before: string, after: string): boolean {
  const probed = readJson(before + JSON.stringify(PROBE) + after);
  const piece = isObject(probed) ? onlyTextOf(probed) : undefined;
  return piece?.kind === kind && piece.text === PROBE;
}

function toRepeatedChunk(before: string, after: string): RepeatedChunk {
  return {
    match(text, at) {
      // `startsWith` compares by characters and took a fifth of a stream's time.
      const start = at + before.length;
      if (text.slice(at, start) !== before) return undefined;
      const plainEnd = endOfPlainWord(text, start);
      const end = plainEnd ?? endOfString(text, start + 1) + 1;
      if (text.slice(end, end + after.length) !== after) return undefined;
      const words = plainEnd === undefined ? readJson(text.slice(start, end)) : text.slice(start + 1, end - 1);
      return typeof words === 'string' ? { words, end: end + after.length } : undefined;
    },
  };
}

/**
 * The parser looks each word up among all strings that it has seen, which takes most of its time.
 */
function endOfPlainWord(text: string, start: number): number | undefined {
  if (text.charCodeAt(start) !== QUOTE) return undefined;
  for (let at = start + 1; at <= start + 1 + MAX_WORD; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH || code < FIRST_PRINTABLE) return undefined;
  }
  return undefined;
}
