/** The body of the backend's answer: as batches of chunks, as the bytes it is, or as the words of a refusal. */

import type { ChatBatch } from '../core/chat.ts';
import type { ApiError } from '../core/errors.ts';
import { createAnswerReader, isPlain, type AnswerReaderOptions } from './answer-reader.ts';
import { NOTHING_YET, whenTaken, type Exchange } from './connection.ts';
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

/** What is there without waiting for it; undefined at the end. */
type Take<T> = () => T | typeof NOTHING_YET | undefined;

/**
 * Reads up to the first thing that the backend says and returns the batches from there on. Throws ApiError, or the signal's
 * reason.
 */
export async function readAnswer(exchange: Exchange, options: AnswerOptions): Promise<AsyncIterable<ChatBatch>> {
  try {
    const take = openBatches(exchange, options);
    const first = await whenTaken(exchange, take);
    return toIterable({ first, take, exchange, signal: options.signal });
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
    const take = openReads(exchange, options);
    return toIterable({ first: undefined, take, exchange, signal: options.signal });
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
function openBatches(exchange: Exchange, options: AnswerOptions): Take<ChatBatch> {
  const understand = createUnderstanding(exchange, options);
  let ended = false;
  let failure: ApiError | undefined;
  return () => {
    while (!ended && failure === undefined) {
      const bytes = exchange.take();
      if (bytes === NOTHING_YET) return NOTHING_YET;
      const read = understand(bytes);
      failure = read.failure;
      if (failure !== undefined) exchange.abort();
      if (read.done) exchange.release();
      ended = read.done || bytes === undefined;
      if (read.chunks.length > 0 || read.done) return read;
    }
    if (failure !== undefined) throw failure;
    return undefined;
  };
}

/** Every read up to the end of the bytes, whatever they say. */
function openReads(
  exchange: Exchange,
  { hidesUsage, ...options }: AnswerOptions & { readonly hidesUsage: boolean },
): Take<RelayedRead> {
  const understand = createUnderstanding(exchange, options);
  const filter = hidesUsage ? createUsageFilter() : undefined;
  let ended = false;
  return () => {
    if (ended) return undefined;
    const bytes = exchange.take();
    if (bytes === NOTHING_YET) return NOTHING_YET;
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

/**
 * Each step is one promise and no async function: a chain of those from the network to the client was a fifth of the garbage
 * of a stream that comes piece by piece.
 */
function toIterable<T>(source: {
  readonly first: T | undefined;
  readonly take: Take<T>;
  readonly exchange: Exchange;
  readonly signal: StopSignal;
}): AsyncIterable<T> {
  const { take, exchange, signal } = source;
  let unread = source.first;
  let over = false;

  function takeNext(): T | typeof NOTHING_YET | undefined {
    signal.throwIfAborted();
    const next = unread ?? take();
    unread = undefined;
    return next;
  }

  // Not a generator: the `finally` of one that was never started does not run, and the exchange would go on.
  const iterator: AsyncIterator<T> = {
    next() {
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<T>>();
      step();
      return promise;

      function step(): void {
        try {
          const value = over ? undefined : takeNext();
          if (value === NOTHING_YET) return exchange.onceReadable(step);
          over = value === undefined;
          resolve(value === undefined ? { done: true, value } : { done: false, value });
        } catch (error) {
          over = true;
          exchange.abort();
          reject(error);
        }
      }
    },
    return() {
      // After the end, and after `[DONE]`, this does nothing.
      if (!over) exchange.abort();
      over = true;
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
