/** The body of the backend's answer: as batches of chunks, as the bytes it is, or as the words of a refusal. */

import type { ChatBatch } from '../core/chat.ts';
import { createAnswerReader, isPlain, type AnswerReaderOptions } from './answer-reader.ts';
import type { BackendConnection } from './connection.ts';
import type { SseRead } from './sse.ts';
import { createUsageFilter } from './usage-filter.ts';
import type { StopSignal } from '../core/stop-signal.ts';

export interface AnswerOptions extends AnswerReaderOptions {
  readonly signal: StopSignal;
  readonly idleTimeoutMs: number;
}

/** What one read brought, with its bytes. A failure is what they say, and more of them may follow. */
export interface RelayedRead extends SseRead {
  /** What the client gets of them. */
  readonly bytes: Uint8Array;
}

/** Who hears a relayed answer. What they return, when it is a promise, is waited for before more is read. */
export interface RelayedReader {
  /** Called first, and only for an answer that can be read. */
  begin(): Promise<void> | undefined;
  take(read: RelayedRead): Promise<void> | undefined;
}

/** The body of a failed request. */
export interface Refusal {
  /** None when they cannot be read, being compressed. */
  readonly bytes: Buffer;
  /** Whether this is all of it. */
  readonly isWhole: boolean;
}

const MAX_REFUSAL_BYTES = 64 * 1024;
/** The status is known by then, and the words are not worth a long wait. */
const REFUSAL_TIMEOUT_MS = 5000;

/**
 * Hands on what the answer says, each read in the turn in which it arrives, up to its `[DONE]` or its end. Throws the failure
 * that the answer speaks of, after what came before it; otherwise as `BackendConnection.pipe` does.
 */
export function readAnswer(
  connection: BackendConnection,
  options: AnswerOptions,
  take: (batch: ChatBatch) => Promise<void> | undefined,
): Promise<void> {
  return reading(connection, () => {
    const understand = createUnderstanding(connection, options);
    return connection.pipe((bytes) => {
      const read = understand(bytes);
      const { failure } = read;
      if (read.done) connection.release();
      const busy = read.chunks.length > 0 || read.done ? take(read) : undefined;
      if (failure === undefined) return busy;
      if (busy === undefined) throw failure;
      return busy.then(() => {
        throw failure;
      });
    });
  });
}

/**
 * Hands on the bytes of the answer as they come, up to their end, beside what they say. With `hidesUsage` the chunk that is
 * there for its usage alone is left out of the bytes. Throws ApiError when the answer is not one to read.
 */
export function relayAnswer(
  connection: BackendConnection,
  { hidesUsage, ...options }: AnswerOptions & { readonly hidesUsage: boolean },
  reader: RelayedReader,
): Promise<void> {
  const filter = hidesUsage ? createUsageFilter() : undefined;
  return reading(connection, async () => {
    const understand = createUnderstanding(connection, options);
    await reader.begin();
    await connection.pipe((bytes) => {
      const read = understand(bytes);
      if (filter === undefined) return reader.take({ ...read, bytes: bytes ?? NO_BYTES });
      return reader.take({ ...read, bytes: bytes === undefined ? filter.end() : filter.feed(bytes) });
    });
  });
}

const NO_BYTES = new Uint8Array();

/** Closes the connection of an answer that cannot be read. */
async function reading(connection: BackendConnection, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    connection.abort();
    throw error;
  }
}

/** The body of a refusal, as far as it comes soon and is not too long. Throws the signal's reason. */
export async function readRefusal(connection: BackendConnection, signal: StopSignal): Promise<Refusal> {
  connection.limitTotal(REFUSAL_TIMEOUT_MS);
  const pieces: Uint8Array[] = [];
  let length = 0;
  let isWhole = false;
  try {
    await connection.pipe((bytes) => {
      isWhole = bytes === undefined;
      if (bytes === undefined) return undefined;
      pieces.push(bytes);
      length += bytes.length;
      if (length > MAX_REFUSAL_BYTES) connection.release();
      return undefined;
    });
  } catch {
    // Broken off or too slow: the status alone says enough.
    signal.throwIfAborted();
  }
  if (!isPlain(connection.headers)) return { bytes: Buffer.alloc(0), isWhole: false };
  return { bytes: Buffer.concat(pieces).subarray(0, MAX_REFUSAL_BYTES), isWhole };
}

/** Says what a read brought, or the end of the bytes. Once the answer has begun, the backend may not be silent for long. */
function createUnderstanding(
  connection: BackendConnection,
  options: AnswerOptions,
): (bytes: Uint8Array | undefined) => SseRead {
  const reader = createAnswerReader(connection.headers, options);
  let hasBegun = false;
  return (bytes) => {
    const read = bytes === undefined ? reader.end() : reader.feed(bytes);
    if (reader.hasBegun && !hasBegun) connection.limitSilence(options.idleTimeoutMs);
    hasBegun = reader.hasBegun;
    return read;
  };
}
