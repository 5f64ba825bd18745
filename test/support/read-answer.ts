import { createSseReader, type SseRead } from '../../src/backend/sse.ts';
import { wholeChunks } from '../../src/backend/repeated-chunk.ts';
import type { ChatChunk, ChunkOrText } from '../../src/core/chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { Answer } from './machine.ts';

export interface WholeAnswer extends Answer {
  readonly chunks: readonly ChatChunk[];
}

/** The same, as the backend sent it. */
export function wholeAnswer(answer: Answer): WholeAnswer {
  return { ...answer, chunks: wholeChunks(answer.chunks) };
}

/** The chunks of an event stream as the gateway's own parser reads them, handed over in pieces that end at `cuts`. */
export function readAnswer(bytes: Uint8Array, cuts: Iterable<number> = []): Answer {
  const reader = createSseReader(() => new ApiError('upstream_error'));
  const chunks: ChunkOrText[] = [];
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
