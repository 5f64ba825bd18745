/** The body of the backend's answer, whatever it turns out to be, as batches of chunks. */

import type { ChatBatch, ChatChunk } from '../core/chat.ts';
import { isObject, readJson } from '../core/json.ts';
import { chunkFromCompletion } from '../core/completion.ts';
import { ApiError } from '../core/errors.ts';
import { errorIn, readErrorBody } from './error-body.ts';
import type { Exchange } from './exchange.ts';
import type { ReplyHeaders } from './reply-headers.ts';
import { createSseReader, type SseRead } from './sse.ts';

export interface AnswerOptions {
  /** What an error in the body means, whose JSON or text it gets. */
  readonly toError: (body: string) => ApiError;
  readonly signal: AbortSignal;
  readonly idleTimeoutMs: number;
  readonly onOperatorProblem: ((problem: string) => void) | undefined;
}

/** The next batch, or undefined at the clean end. */
type NextBatch = () => Promise<ChatBatch | undefined>;
type AnswerKind = 'stream' | 'completion' | 'neither';

const MAX_COMPLETION_BYTES = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;
/** The status is known by then, and the words are not worth a long wait. */
const REFUSAL_TIMEOUT_MS = 5000;

/**
 * Reads up to the first thing that the backend says and returns the batches from there on. What the body is decides its
 * first byte, then its content type: some send JSON as an event stream, or a stream without any content type. Throws
 * ApiError, or the signal's reason.
 */
export async function readAnswer(exchange: Exchange, options: AnswerOptions): Promise<AsyncIterable<ChatBatch>> {
  try {
    const next = await openBatches(exchange, options);
    const first = await next();
    exchange.limitSilence(options.idleTimeoutMs);
    return toIterable({ first, next, exchange, signal: options.signal });
  } catch (error) {
    exchange.abort();
    throw error;
  }
}

/** The body of a refusal, as far as it comes soon and is not too long. Throws the signal's reason. */
export async function readRefusal(exchange: Exchange, signal: AbortSignal): Promise<string> {
  exchange.limitTotal(REFUSAL_TIMEOUT_MS);
  const pieces: Uint8Array[] = [];
  try {
    for (let length = 0; length < MAX_REFUSAL_BYTES;) {
      const bytes = await exchange.read();
      if (bytes === undefined) break;
      pieces.push(bytes);
      length += bytes.length;
    }
  } catch {
    // Broken off or too slow: the status alone says enough.
    signal.throwIfAborted();
  }
  exchange.release();
  return isPlain(exchange.headers) ? Buffer.concat(pieces).toString('utf8', 0, MAX_REFUSAL_BYTES) : '';
}

async function openBatches(exchange: Exchange, options: AnswerOptions): Promise<NextBatch> {
  if (!isPlain(exchange.headers)) throw invalid('The backend sent a compressed answer, although it was asked not to.');
  const type = contentType(exchange.headers);
  let head: Uint8Array = new Uint8Array();
  for (;;) {
    const bytes = await exchange.read();
    head = withoutLeadingSpace(bytes === undefined ? head : Buffer.concat([head, bytes]));
    const kind = kindOf(head, type, bytes === undefined);
    switch (kind) {
      case undefined:
        break;
      case 'stream':
        return streamBatches(exchange, head, options);
      case 'completion':
        return completionBatch(exchange, head, options);
      case 'neither':
        throw neither(head, options);
    }
  }
}

/** Undefined while too little has come to tell. */
function kindOf(head: Uint8Array, type: string, ended: boolean): AnswerKind | undefined {
  const start = Buffer.from(head.subarray(0, 16)).toString('latin1');
  if (/^[{[]/.test(start)) return 'completion';
  if (start.startsWith('<')) return 'neither';
  if (type === 'text/event-stream') return start !== '' || ended ? 'stream' : undefined;
  if (/^(?:data|event|id|retry)?:/.test(start)) return 'stream';
  const mayBecomeStream = ['data:', 'event:', 'id:', 'retry:'].some((field) => field.startsWith(start));
  return mayBecomeStream && !ended ? undefined : 'neither';
}

function neither(head: Uint8Array, { onOperatorProblem }: AnswerOptions): ApiError {
  if (head.length === 0) return invalid('The backend sent an empty answer.');
  if (head[0] !== '<'.charCodeAt(0)) return invalid('The backend sent an answer that is no chat completion.');
  onOperatorProblem?.(
    'The backend answered a chat completion with a web page: check UPSTREAM_BASE_URL (with its /v1).',
  );
  return invalid('The backend sent a web page in place of a chat completion.');
}

function streamBatches(exchange: Exchange, head: Uint8Array, { toError }: AnswerOptions): NextBatch {
  const reader = createSseReader((error) => toError(bodyOf(error)));
  let unread: Uint8Array | undefined = head;
  let ended = false;
  let failure: ApiError | undefined;

  async function readOn(): Promise<SseRead> {
    const bytes = unread ?? (await exchange.read());
    unread = undefined;
    ended = bytes === undefined;
    return bytes === undefined ? reader.end() : reader.feed(bytes);
  }

  return async () => {
    while (!ended && failure === undefined) {
      const read = await readOn();
      failure = read.failure;
      if (failure !== undefined) exchange.abort();
      if (read.done) {
        ended = true;
        exchange.release();
      }
      if (read.chunks.length > 0 || read.done) return { chunks: read.chunks, done: read.done };
    }
    if (failure !== undefined) throw failure;
    return undefined;
  };
}

async function completionBatch(exchange: Exchange, head: Uint8Array, options: AnswerOptions): Promise<NextBatch> {
  exchange.limitSilence(options.idleTimeoutMs);
  const pieces = [head];
  let length = head.length;
  for (let bytes = await exchange.read(); bytes !== undefined; bytes = await exchange.read()) {
    pieces.push(bytes);
    length += bytes.length;
    if (length > MAX_COMPLETION_BYTES) throw invalid('The backend sent an answer that is too large.');
  }
  const chunk = chunkFromCompletion(toCompletion(Buffer.concat(pieces).toString(), options));
  let batch: ChatBatch | undefined = { chunks: [chunk], done: true };
  return () => {
    const next = batch;
    batch = undefined;
    return Promise.resolve(next);
  };
}

function toCompletion(text: string, { toError }: AnswerOptions): ChatChunk {
  const completion = readJson(text);
  if (isObject(completion)) {
    const error = errorIn(completion);
    if (error !== undefined) throw toError(bodyOf(error));
    if (Array.isArray(completion['choices'])) return completion;
  }
  // Not a completion. A 200 with an explanation in it is still an explanation (Google sends its error in a list).
  if (completion !== undefined && readErrorBody(text).message !== '') throw toError(text);
  throw invalid('The backend sent an answer that is no chat completion.');
}

/** An error that came inside an answer, as the body it would have been. */
function bodyOf(error: unknown): string {
  try {
    return JSON.stringify({ error });
  } catch {
    // Nested so deep that it can be read but not written.
    return '';
  }
}

function toIterable(source: {
  readonly first: ChatBatch | undefined;
  readonly next: NextBatch;
  readonly exchange: Exchange;
  readonly signal: AbortSignal;
}): AsyncIterable<ChatBatch> {
  const { next, exchange, signal } = source;
  let unread = source.first;
  let over = unread === undefined;

  async function readNext(): Promise<IteratorResult<ChatBatch>> {
    if (over) return { done: true, value: undefined };
    try {
      signal.throwIfAborted();
      const batch = unread ?? (await next());
      unread = undefined;
      over = batch === undefined || batch.done;
      return batch === undefined ? { done: true, value: undefined } : { done: false, value: batch };
    } catch (error) {
      over = true;
      exchange.abort();
      throw error;
    }
  }

  // Not a generator: the `finally` of one that was never started does not run, and the exchange would go on.
  const iterator: AsyncIterator<ChatBatch> = {
    next: readNext,
    return() {
      if (!over) exchange.abort();
      over = true;
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

function contentType(headers: ReplyHeaders): string {
  return String(headers['content-type'] ?? '')
    .split(';', 1)
    .join()
    .trim()
    .toLowerCase();
}

function isPlain(headers: ReplyHeaders): boolean {
  const encoding = String(headers['content-encoding'] ?? '').trim();
  return encoding === '' || encoding.toLowerCase() === 'identity';
}

/** Space and a byte order mark: some backends send empty lines for as long as they think. */
function withoutLeadingSpace(bytes: Uint8Array): Uint8Array {
  let start = 0;
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) start = 3;
  while (isSpace(bytes[start])) start++;
  return bytes.subarray(start);
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function invalid(message: string): ApiError {
  return new ApiError('upstream_invalid_response', { message });
}
