/** Buffers an answer until it says something, so that another backend can still be asked when it breaks off before. */

import type { ChatChunk } from '../core/chat.ts';
import { isWithoutOutput } from '../core/reply/chunk.ts';
import { brokenOff } from '../core/reply/finish-reason.ts';
import type { RelayedRead } from './answer.ts';
import type { AnswerListener, BegunAnswer, RelayedAnswer, RelayListener } from './chat.ts';
import type { RelayedRefusal } from './refusal.ts';

/** Chunks that say nothing. More would be a backend that shows that it is at work. */
const MAX_BUFFERED_CHUNKS = 16;
/** Of a relayed answer. A larger completion is passed on while it comes. */
const MAX_BUFFERED_BYTES = 64 * 1024;

/** `ask` gets the listener that buffers. */
export async function askForOutput(
  listener: AnswerListener,
  ask: (listener: AnswerListener) => Promise<void>,
): Promise<void> {
  let buffered: { readonly answer: BegunAnswer; readonly chunks: ChatChunk[] } | undefined;
  await ask({
    begin: (answer) => void (buffered = { answer, chunks: [] }),
    take(batch) {
      if (buffered === undefined) return listener.take(batch);
      const { answer, chunks } = buffered;
      chunks.push(...batch.chunks);
      if (!batch.done && isSilent(batch.chunks) && chunks.length <= MAX_BUFFERED_CHUNKS) return undefined;
      buffered = undefined;
      listener.begin(answer);
      return listener.take({ chunks, done: batch.done });
    },
  });
  if (buffered !== undefined) throw brokenOff();
}

export interface RelayBuffering {
  /** Whether chunks that say nothing are buffered too, and not only what comes before the first chunk. */
  readonly buffersChunks: boolean;
  /** A backend may keep its connection alive with comments. After this time they are passed on. */
  readonly timeoutMs: number;
  readonly nowMs: () => number;
}

/** `relay` gets the listener that buffers. */
export async function relayForOutput(
  listener: RelayListener,
  { buffersChunks, timeoutMs, nowMs }: RelayBuffering,
  relay: (listener: RelayListener) => Promise<RelayedRefusal | undefined>,
): Promise<RelayedRefusal | undefined> {
  const maxChunks = buffersChunks ? MAX_BUFFERED_CHUNKS : 0;
  let buffered: { readonly answer: RelayedAnswer; readonly reads: RelayedRead[]; readonly untilMs: number } | undefined;
  let chunkCount = 0;
  let byteCount = 0;
  const refusal = await relay({
    begin: (answer) => void (buffered = { answer, reads: [], untilMs: nowMs() + timeoutMs }),
    take(read) {
      if (buffered === undefined) return listener.take(read);
      const { answer, reads, untilMs } = buffered;
      reads.push(read);
      chunkCount += read.chunks.length;
      byteCount += read.bytes.length;
      if (!read.done && isSilent(read.chunks) && chunkCount <= maxChunks) {
        if (read.failure !== undefined) throw read.failure;
        if (byteCount <= MAX_BUFFERED_BYTES && nowMs() < untilMs) return undefined;
      }
      buffered = undefined;
      const begun = listener.begin(answer);
      const all = joined(reads, read);
      return begun === undefined ? listener.take(all) : begun.then(() => listener.take(all));
    },
  });
  if (buffered !== undefined) throw brokenOff();
  return refusal;
}

function isSilent(chunks: readonly ChatChunk[]): boolean {
  return chunks.every((chunk) => isWithoutOutput(chunk));
}

/** Only the last read can have an end. */
function joined(reads: readonly RelayedRead[], last: RelayedRead): RelayedRead {
  if (reads.length === 1) return last;
  return {
    ...last,
    bytes: Buffer.concat(reads.map(({ bytes }) => bytes)),
    chunks: reads.flatMap(({ chunks }) => chunks),
  };
}
