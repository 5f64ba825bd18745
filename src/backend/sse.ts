import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { ChatBatch, ChatChunk } from '../core/chat.ts';
import { isObject, readJson } from '../core/json.ts';
import { ApiError } from '../core/errors.ts';
import { excessOfText } from '../core/json-size.ts';
import { choicesOf, finishReasonOf } from '../core/reply/chunk.ts';
import { errorIn, speaksOfError } from './error-body.ts';
import { createRepeatedChunks } from './repeated-chunk.ts';

const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024;

/** A failure comes after the chunks of its read and ends the stream. */
export interface SseRead extends ChatBatch {
  readonly failure?: ApiError;
  /** What is known of an answer that was not parsed, which may hold output; set beside the failure. */
  readonly unparsed?: ChatChunk;
}

export interface SseReader {
  /** Returns nothing more after `done` or a failure. */
  feed(bytes: Uint8Array): SseRead;
  end(): SseRead;
}

/**
 * Returns a reader of an event stream. `toFailure` turns an error in the stream into an ApiError.
 */
export function createSseReader(toFailure: (error: unknown) => ApiError): SseReader {
  const text = createTextReader();
  const parser = createParser({
    onEvent,
    onError(error) {
      // The standard ignores unknown fields and bad `retry` lines.
      if (error.type === 'max-buffer-size-exceeded') failUnparsed('The backend sent an event that is too large.');
    },
    maxBufferSize: MAX_EVENT_CHARACTERS,
  });
  const repeated = createRepeatedChunks();
  let chunks: ChatChunk[] = [];
  let done = false;
  let failure: ApiError | undefined;
  let isUnparsed = false;
  let atEnd = false;
  let isFinished = false;
  /** Home-made servers end a broken answer with an error of their own form, and then `[DONE]`. */
  let perhapsError: ChatChunk | undefined;

  function onEvent(event: EventSourceMessage): void {
    if (isOver()) return;
    const data = event.data.trim();
    if (excessOfText(data) !== undefined) {
      failUnparsed('The backend sent an event that is too large.');
      return;
    }
    if (data === '[DONE]') {
      failure = failureAtEnd();
      done = failure === undefined;
    } else if (event.event === 'error') {
      // The data is the error itself, with or without `error` around it, and need not be JSON.
      const answer = readJson(data);
      failure = toFailure((isObject(answer) ? errorIn(answer) : undefined) ?? answer ?? data);
    } else if (data !== '') {
      readChunk(data);
    }
  }

  function readChunk(data: string): void {
    const chunk = readJson(data);
    if (isObject(chunk)) {
      const error = errorIn(chunk);
      if (error === undefined) noteChunk(chunk);
      else failure = toFailure(error);
      repeated.learn(data, chunk);
    } else if (!atEnd && !KEEP_ALIVE.test(data)) {
      // At the end an event may be cut. The translator notices that the finish reason is missing.
      failUnparsed('The backend sent an event that is not a JSON object.');
    }
  }

  function failUnparsed(message: string): void {
    if (isOver()) return;
    failure = new ApiError('upstream_invalid_response', { message });
    isUnparsed = true;
  }

  function noteChunk(chunk: ChatChunk): void {
    perhapsError = speaksOfError(chunk) ? chunk : undefined;
    // As the first event it would begin an answer that is none.
    if (perhapsError !== undefined) return;
    chunks.push(chunk);
    isFinished ||= choicesOf(chunk).some(({ choice }) => finishReasonOf(choice) !== undefined);
  }

  function noteRepeated(chunk: ChatChunk): void {
    chunks.push(chunk);
    perhapsError = undefined;
  }

  function failureAtEnd(): ApiError | undefined {
    return perhapsError === undefined || isFinished ? undefined : toFailure(perhapsError);
  }

  function readText(text: string): SseRead {
    if (isOver()) return { chunks: [], done: false };
    for (let at = 0; at < text.length && !isOver();) {
      const { chunk, end } = repeated.next(text, at);
      if (chunk === undefined) parser.feed(text.slice(at, end));
      else noteRepeated(chunk);
      at = end;
    }
    const read = { chunks, done };
    // What is kept here would live through a collection while the end of the request is written.
    chunks = [];
    return failure === undefined ? read : { ...read, failure, ...(isUnparsed && { unparsed: {} }) };
  }

  function isOver(): boolean {
    return done || failure !== undefined;
  }

  return {
    feed: (bytes) => readText(text.feed(bytes)),
    end() {
      atEnd = true;
      const read = readText(`${text.end()}\n\n`);
      if (isOver()) return read;
      failure = failureAtEnd();
      return failure === undefined ? read : { ...read, failure };
    },
  };
}

/** Nearly every read ends a line, and cuts no character. A decoder of streams takes half as long again. */
function createTextReader(): { feed(bytes: Uint8Array): string; end(): string } {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let mayBeCut = false;
  return {
    feed(bytes) {
      const endsInAscii = (bytes.at(-1) ?? FIRST_BEYOND_ASCII) < FIRST_BEYOND_ASCII;
      const isWhole = endsInAscii && !mayBeCut;
      mayBeCut = !endsInAscii;
      return isWhole ? toBuffer(bytes).toString() : decoder.decode(bytes, { stream: true });
    },
    end: () => decoder.decode(),
  };
}

const FIRST_BEYOND_ASCII = 0x80;

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Some servers send one of these in the pauses of the model. */
const KEEP_ALIVE = /^(?:null|"?(?:ping|pong|heartbeat|keep-?alive)"?)$/i;
