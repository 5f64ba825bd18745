/** The body of the backend's answer: as batches of chunks, as the bytes it is, or as the words of a refusal. */

import type { ChatBatch } from '../core/chat.ts';
import type { ApiError } from '../core/errors.ts';
import { createAnswerReader, isPlain, type AnswerReaderOptions } from './answer-reader.ts';
import type { Exchange } from './exchange.ts';
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

/** Undefined at the end. */
type Next<T> = () => Promise<T | undefined>;

/**
 * Reads up to the first thing that the backend says and returns the batches from there on. Throws ApiError, or the signal's
 * reason.
 */
export async function readAnswer(exchange: Exchange, options: AnswerOptions): Promise<AsyncIterable<ChatBatch>> {
  try {
    const next = openBatches(exchange, options);
    const first = await next();
    return toIterable({ first, next, exchange, signal: options.signal });
  } catch (error) {
    exchange.abort();
    throw error;
  }
}

/**
 * The bytes of the answer as they come, beside what they say. With `hidesUsage` the chunk that is there for its usage alone is
 * left out of the bytes. Throws ApiError when the answer is not one to read.
 */
export function relayAnswer(
  exchange: Exchange,
  options: AnswerOptions & { readonly hidesUsage: boolean },
): AsyncIterable<RelayedRead> {
  try {
    const next = openReads(exchange, options);
    return toIterable({ first: undefined, next, exchange, signal: options.signal });
  } catch (error) {
    exchange.abort();
    throw error;
  }
}

/** The body of a refusal, as far as it comes soon and is not too long. Throws the signal's reason. */
export async function readRefusal(exchange: Exchange, signal: StopSignal): Promise<Refusal> {
  exchange.limitTotal(REFUSAL_TIMEOUT_MS);
  const pieces: Uint8Array[] = [];
  let isWhole = false;
  try {
    for (let length = 0; length <= MAX_REFUSAL_BYTES;) {
      const bytes = await exchange.read();
      isWhole = bytes === undefined;
      if (bytes === undefined) break;
      pieces.push(bytes);
      length += bytes.length;
    }
  } catch {
    // Broken off or too slow: the status alone says enough.
    signal.throwIfAborted();
  }
  exchange.release();
  if (!isPlain(exchange.headers)) return { bytes: Buffer.alloc(0), isWhole: false };
  return { bytes: Buffer.concat(pieces).subarray(0, MAX_REFUSAL_BYTES), isWhole };
}

/** Reads on until there is something to say. The answer ends with `[DONE]`, or with a failure, which is thrown. */
function openBatches(exchange: Exchange, options: AnswerOptions): Next<ChatBatch> {
  const understand = createUnderstanding(exchange, options);
  let ended = false;
  let failure: ApiError | undefined;
  return async () => {
    while (!ended && failure === undefined) {
      const bytes = await exchange.read();
      const { chunks, done, ...read } = understand(bytes);
      failure = read.failure;
      if (failure !== undefined) exchange.abort();
      if (done) exchange.release();
      ended = done || bytes === undefined;
      if (chunks.length > 0 || done) return { chunks, done };
    }
    if (failure !== undefined) throw failure;
    return undefined;
  };
}

/** Every read up to the end of the bytes, whatever they say. */
function openReads(
  exchange: Exchange,
  { hidesUsage, ...options }: AnswerOptions & { readonly hidesUsage: boolean },
): Next<RelayedRead> {
  const understand = createUnderstanding(exchange, options);
  const filter = hidesUsage ? createUsageFilter() : undefined;
  let ended = false;
  return async () => {
    if (ended) return undefined;
    const bytes = await exchange.read();
    ended = bytes === undefined;
    const read = understand(bytes);
    if (filter !== undefined) return { ...read, bytes: bytes === undefined ? filter.end() : filter.feed(bytes) };
    return { ...read, bytes: bytes ?? new Uint8Array() };
  };
}

/** Says what a read brought, or the end of the bytes. Once the answer has begun, the backend may not be silent for long. */
function createUnderstanding(exchange: Exchange, options: AnswerOptions): (bytes: Uint8Array | undefined) => SseRead {
  const reader = createAnswerReader(exchange.headers, options);
  let hasBegun = false;
  return (bytes) => {
    const read = bytes === undefined ? reader.end() : reader.feed(bytes);
    if (reader.hasBegun && !hasBegun) exchange.limitSilence(options.idleTimeoutMs);
    hasBegun = reader.hasBegun;
    return read;
  };
}

function toIterable<T>(source: {
  readonly first: T | undefined;
  readonly next: Next<T>;
  readonly exchange: Exchange;
  readonly signal: StopSignal;
}): AsyncIterable<T> {
  const { next, exchange, signal } = source;
  let unread = source.first;
  let over = false;

  async function readNext(): Promise<IteratorResult<T>> {
    if (over) return { done: true, value: undefined };
    try {
      signal.throwIfAborted();
      const value = unread ?? (await next());
      unread = undefined;
      over = value === undefined;
      return value === undefined ? { done: true, value: undefined } : { done: false, value };
    } catch (error) {
      over = true;
      exchange.abort();
      throw error;
    }
  }

  // Not a generator: the `finally` of one that was never started does not run, and the exchange would go on.
  const iterator: AsyncIterator<T> = {
    next: readNext,
    return() {
      // After the end, and after `[DONE]`, this does nothing.
      if (!over) exchange.abort();
      over = true;
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
