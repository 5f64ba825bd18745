import type { ChatChunk } from '../core/chat.ts';
import { onlyTextOf, type TextPiece } from '../core/reply/chunk.ts';
import { endOfString, isObject, readJson } from '../core/json.ts';

/**
 * Most events of a stream equal the one before to the byte, but for the words of the model. Such an event is known by
 * comparing it, and then its words are all that has to be parsed: a tenth of the work that the whole chunk would be.
 */
export interface RepeatedChunk {
  /** The event that begins at this place of the text; undefined when it is another one, or is not there as a whole. */
  match(text: string, at: number): RepeatedEvent | undefined;
}

export interface RepeatedEvent {
  readonly words: string;
  /** Where the next event begins. */
  readonly end: number;
}

/** The fields that words come in, as their keys stand in the data of an event. */
const KEYS = /"(?:content|reasoning_content|reasoning)": ?(?=")/g;
/** Stands where the words were, to see what depends on them. Nothing that a model says by chance. */
const PROBE = '\u0000the words\u0000';

/** In UTF-16 code units. A chunk that says words alone is far shorter, and each place to try means to parse all of it again. */
const MAX_EVENT = 4096;
/** How many of the keys in an event are tried; the others hold what a backend sends beside the words, such as search results. */
const MAX_PLACES = 4;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** What is below it must be escaped in JSON. */
const FIRST_PRINTABLE = 0x20;
/** V8 copies so many characters; a longer piece cut out of a text would keep all of that text in memory. */
const MAX_WORD = 12;

/**
 * Learns from an event what another one of its kind looks like; undefined when it says more than words, or when it is too
 * large to be searched for them.
 */
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

/** Whether it is what stands between these two, and nothing else, that the chunk says. */
function isPlaceOf({ kind }: TextPiece, before: string, after: string): boolean {
  const probed = readJson(before + JSON.stringify(PROBE) + after);
  const piece = isObject(probed) ? onlyTextOf(probed) : undefined;
  return piece?.kind === kind && piece.text === PROBE;
}

function toRepeatedChunk(before: string, after: string): RepeatedChunk {
  return {
    match(text, at) {
      // Cut out and compared, which goes by machine words; `startsWith` goes by characters and took a fifth of a stream's time.
      const start = at + before.length;
      if (text.slice(at, start) !== before) return undefined;
      const plainEnd = endOfPlainWord(text, start);
      const end = plainEnd ?? endOfString(text, start + 1) + 1;
      if (text.slice(end, end + after.length) !== after) return undefined;
      // The parser is the judge of escapes, and refuses what is no string.
      const words = plainEnd === undefined ? readJson(text.slice(start, end)) : text.slice(start + 1, end - 1);
      return typeof words === 'string' ? { words, end: end + after.length } : undefined;
    },
  };
}

/**
 * Behind the closing quote of a short string in which nothing is escaped, or would have to be; undefined when it is another
 * one. The parser would look such a word up among all strings it has seen, which is most of what the parsing takes.
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
