import { createSseReader, type SseRead } from '../../src/backend/sse.ts';
import type { ChatChunk } from '../../src/core/chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { Answer } from './machine.ts';

/** The chunks of an event stream as the gateway's own parser reads them, handed over in pieces that end at `cuts`. */
export function readAnswer(bytes: Uint8Array, cuts: Iterable<number> = []): Answer {
  const reader = createSseReader(() => new ApiError('upstream_error'));
  const chunks: ChatChunk[] = [];
  let done = false;
  let failure: ApiError | undefined;
  let from = 0;
  for (const cut of cuts) {
    take(reader.feed(bytes.subarray(from, cut)));
    from = cut;
  }
  take(reader.feed(bytes.subarray(from)));
  take(reader.end());
  return { chunks, done, failure };

  function take(read: SseRead): void {
    chunks.push(...read.chunks);
    done ||= read.done;
    failure ??= read.failure;
  }
}
