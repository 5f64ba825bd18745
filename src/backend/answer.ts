import type { ChatBatch } from '../core/chat.ts';
import { createAnswerReader, isPlain, type AnswerReaderOptions } from './answer-reader.ts';
import { NO_BYTES } from './byte-filter.ts';
import type { BackendConnection } from './connection.ts';
import { createKeyFilter } from './own-key.ts';
import type { SseRead } from './sse.ts';
import { createUsageFilter } from './usage-filter.ts';
import type { StopSignal } from '../core/stop-signal.ts';

export interface AnswerOptions extends AnswerReaderOptions {
  readonly signal: StopSignal;
  readonly idleTimeoutMs: number;
}

export interface RelayedRead extends SseRead {
  readonly bytes: Uint8Array;
}

interface RelayOptions extends AnswerOptions {
  readonly hidesUsage: boolean;
  readonly secrets: readonly string[];
}

/** A returned promise pauses the reading until it resolves. */
export interface RelayedReader {
  /** Called first, and only if the answer can be read. */
  begin(): Promise<void> | undefined;
  take(read: RelayedRead): Promise<void> | undefined;
}

export interface Refusal {
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

const MAX_REFUSAL_BYTES = 64 * 1024;
/** The status is known by then, and the body is not worth a long wait. */
const REFUSAL_TIMEOUT_MS = 5000;

/**
 * Passes on the chunks of the answer, up to `[DONE]` or the end. Throws the failure that the answer
 * contains after the chunks before it; otherwise throws as `BackendConnection.pipe` does.
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
 * Passes on the bytes of the answer with their chunks, up to the end, without the secrets. `hidesUsage`
 * removes the chunk that carries only usage. Throws ApiError if the answer cannot be read.
 */
export function relayAnswer(
  connection: BackendConnection,
  { hidesUsage, secrets, ...options }: RelayOptions,
  reader: RelayedReader,
): Promise<void> {
  const filters = [createKeyFilter(secrets), hidesUsage ? createUsageFilter() : undefined].filter(
    (filter) => filter !== undefined,
  );
  const filtered = (bytes: Uint8Array | undefined): Uint8Array =>
    filters.reduce(
      (piece, filter) => (bytes === undefined ? Buffer.concat([filter.feed(piece), filter.end()]) : filter.feed(piece)),
      bytes ?? NO_BYTES,
    );
  return reading(connection, async () => {
    const understand = createUnderstanding(connection, options);
    await reader.begin();
    await connection.pipe((bytes) => {
      const read = understand(bytes);
      return reader.take({ ...read, bytes: filtered(bytes) });
    });
  });
}

async function reading(connection: BackendConnection, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    connection.abort();
    throw error;
  }
}

/** Reads the body of a refusal, up to a limit of time and size. Throws the signal's reason. */
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
    // The connection broke or was too slow. The status alone says enough.
    signal.throwIfAborted();
  }
  if (!isPlain(connection.headers)) return { bytes: Buffer.alloc(0), isWhole: false };
  return { bytes: Buffer.concat(pieces).subarray(0, MAX_REFUSAL_BYTES), isWhole };
}

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
