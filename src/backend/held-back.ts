/** Holds an answer back until it says something, so that another backend can still be asked when it breaks off before. */

import type { ChatChunk } from '../core/chat.ts';
import { saysNothing } from '../core/reply/chunk.ts';
import { brokenOff } from '../core/reply/finish-reason.ts';
import type { RelayedRead } from './answer.ts';
import type { AnswerListener, BegunAnswer, RelayedAnswer, RelayListener } from './chat.ts';
import type { RelayedRefusal } from './refusal.ts';

/** Chunks that say nothing. More would be a backend that shows that it is at work. */
const MAX_HELD_CHUNKS = 16;
/** Of a relayed answer. A larger completion is passed on while it comes. */
const MAX_HELD_BYTES = 64 * 1024;

/** `ask` gets the listener that holds back. */
export async function askForOutput(
  listener: AnswerListener,
  ask: (listener: AnswerListener) => Promise<void>,
): Promise<void> {
  let held: { readonly answer: BegunAnswer; readonly chunks: ChatChunk[] } | undefined;
  await ask({
    begin: (answer) => void (held = { answer, chunks: [] }),
    take(batch) {
      if (held === undefined) return listener.take(batch);
      const { answer, chunks } = held;
      chunks.push(...batch.chunks);
      if (!batch.done && isSilent(batch.chunks) && chunks.length <= MAX_HELD_CHUNKS) return undefined;
      held = undefined;
      listener.begin(answer);
      return listener.take({ chunks, done: batch.done });
    },
  });
  if (held !== undefined) throw brokenOff();
}

export interface RelayHold {
  /** Whether chunks that say nothing are held back too, and not only what comes before the first chunk. */
  readonly holdsChunks: boolean;
  /** A backend may keep its connection alive with comments. After this time they are passed on. */
  readonly timeoutMs: number;
  readonly nowMs: () => number;
}

/** `relay` gets the listener that holds back. */
export async function relayForOutput(
  listener: RelayListener,
  { holdsChunks, timeoutMs, nowMs }: RelayHold,
  relay: (listener: RelayListener) => Promise<RelayedRefusal | undefined>,
): Promise<RelayedRefusal | undefined> {
  const maxChunks = holdsChunks ? MAX_HELD_CHUNKS : 0;
  let held: { readonly answer: RelayedAnswer; readonly reads: RelayedRead[]; readonly untilMs: number } | undefined;
  let chunkCount = 0;
  let byteCount = 0;
  const refusal = await relay({
    begin: (answer) => void (held = { answer, reads: [], untilMs: nowMs() + timeoutMs }),
    take(read) {
      if (held === undefined) return listener.take(read);
      const { answer, reads, untilMs } = held;
      reads.push(read);
      chunkCount += read.chunks.length;
      byteCount += read.bytes.length;
      if (!read.done && isSilent(read.chunks) && chunkCount <= maxChunks) {
        if (read.failure !== undefined) throw read.failure;
        if (byteCount <= MAX_HELD_BYTES && nowMs() < untilMs) return undefined;
      }
      held = undefined;
      const begun = listener.begin(answer);
      const all = joined(reads, read);
      return begun === undefined ? listener.take(all) : begun.then(() => listener.take(all));
    },
  });
  if (held !== undefined) throw brokenOff();
  return refusal;
}

function isSilent(chunks: readonly ChatChunk[]): boolean {
  return chunks.every((chunk) => saysNothing(chunk));
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
