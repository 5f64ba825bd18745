import { NO_BYTES, type ByteFilter } from './byte-filter.ts';
import { isList, isObject, readJson } from '../core/json.ts';

/** A larger event is passed on, since no usage is so long. */
const MAX_HELD_BYTES = 64 * 1024;
const LF = 0x0a;
const CR = 0x0d;
/** The first bytes of `data`, `event`, `id`, `retry`, a comment and a byte order mark. */
const FIRST_BYTES = new Set<number | undefined>(Buffer.from('deir:\xef', 'latin1'));

/**
 * Removes the chunk with usage for a client that did not ask for it. Holds back at most one event.
 */
export function createUsageFilter(): ByteFilter {
  let buffered = NO_BYTES;
  let inEvent = false;
  let passing = false;
  let atLineStart = true;
  let afterCr = false;
  let leftOut = false;

  return {
    feed(bytes) {
      // Nearly every read takes this path, and the native search costs a tenth of the loop below.
      if (!inEvent && !afterCr && hasNothingToHide(bytes)) return bytes;
      const all = buffered.length === 0 ? bytes : Buffer.concat([buffered, bytes]);
      const kept: Uint8Array[] = [];
      let from = 0;
      let start = 0;
      for (let at = buffered.length; at < all.length; at++) {
        const byte = all[at];
        if (byte === LF && afterCr) {
          afterCr = false;
          if (inEvent) continue;
          // This is the second half of the line end after the last event.
          start = at + 1;
          if (leftOut) from = start;
        } else if (byte !== LF && byte !== CR) {
          if (!inEvent) passing = !FIRST_BYTES.has(byte);
          inEvent = true;
          atLineStart = false;
          afterCr = false;
        } else {
          afterCr = byte === CR;
          if (atLineStart) endEvent(at + 1);
          atLineStart = true;
        }
      }
      if (all.length - start > MAX_HELD_BYTES) passing = true;
      const until = inEvent && passing ? all.length : start;
      buffered = all.subarray(until);
      kept.push(all.subarray(from, until));
      return kept.length === 1 ? (kept[0] ?? NO_BYTES) : Buffer.concat(kept);

      function endEvent(end: number): void {
        const event = all.subarray(start, end);
        leftOut = !passing && isUsageChunk(event);
        if (leftOut) {
          kept.push(all.subarray(from, start), commentsOf(event));
          from = end;
        }
        start = end;
        inEvent = false;
        passing = false;
      }
    },
    end: () => (isUsageChunk(buffered) ? commentsOf(buffered) : buffered),
  };
}

const EMPTY_CHOICES = /"choices"\s*:\s*\[\s*\]/;

function hasNothingToHide(bytes: Uint8Array): boolean {
  return bytes.at(-1) === LF && bytes.at(-2) === LF && !EMPTY_CHOICES.test(toLatin1(bytes));
}

function toLatin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/** The chunk that `include_usage` adds has no choices, and the usage of the whole answer. */
function isUsageChunk(event: Uint8Array): boolean {
  const text = toLatin1(event);
  if (!EMPTY_CHOICES.test(text)) return false;
  const lines = text.replace(/^\xef\xbb\xbf/, '').split(/\r\n|\r|\n/);
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice('data:'.length));
  const chunk = readJson(data.join('\n'));
  return isObject(chunk) && isList(chunk['choices']) && chunk['choices'].length === 0 && isObject(chunk['usage']);
}

/** Comments keep the connection alive, so they are passed on. */
function commentsOf(event: Uint8Array): Buffer {
  const text = toLatin1(event);
  return Buffer.from((text.match(/^:.*(?:\r\n|\r|\n)/gm) ?? []).join(''), 'latin1');
}
