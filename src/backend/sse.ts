import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { ChatBatch, ChatChunk } from '../core/chat.ts';
import { isObject, readJson } from '../core/json.ts';
import { ApiError } from '../core/errors.ts';
import { errorIn } from './error-body.ts';

const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;

/** What one read brought. A failure ends the stream, after the chunks that came before it. */
export interface SseRead extends ChatBatch {
  readonly failure?: ApiError;
}

interface SseReader {
  /** Takes the bytes of one read, cut anywhere. After `done` or a failure it returns nothing more. */
  feed(bytes: Uint8Array): SseRead;
  /** The end of the bytes: takes a last event that lacks its blank line. */
  end(): SseRead;
}

/** Reads the bytes of an event stream as chunks. `toFailure` says what an error in the stream means. */
export function createSseReader(toFailure: (error: unknown) => ApiError): SseReader {
  const decoder = new TextDecoder();
  const parser = createParser({
    onEvent,
    onError(error) {
      // Unknown fields and bad `retry` lines are to be ignored, says the standard.
      if (error.type === 'max-buffer-size-exceeded')
        failure ??= invalid('The backend sent an event that is too large.');
    },
    maxBufferSize: MAX_EVENT_CHARACTERS,
  });
  let chunks: ChatChunk[] = [];
  let done = false;
  let failure: ApiError | undefined;
  let atEnd = false;

  function onEvent(event: EventSourceMessage): void {
    if (done || failure !== undefined) return;
    const data = event.data.trim();
    if (data === '[DONE]') {
      done = true;
    } else if (event.event === 'error') {
      // Here the data is the error itself, with or without an `error` around it; it need not even be JSON.
      const answer = readJson(data);
      failure = toFailure((isObject(answer) ? errorIn(answer) : undefined) ?? answer ?? data);
    } else if (data !== '') {
      readChunk(readJson(data));
    }
  }

  function readChunk(chunk: unknown): void {
    if (isObject(chunk)) {
      const error = errorIn(chunk);
      if (error === undefined) chunks.push(chunk);
      else failure = toFailure(error);
    } else if (!atEnd) {
      // At the end it is the rest of an event that was cut, which is for the translator to notice: no finish reason came.
      failure = invalid('The backend sent an event that is not a JSON object.');
    }
  }

  function readText(text: string): SseRead {
    if (done || failure !== undefined) return { chunks: [], done: false };
    chunks = [];
    parser.feed(text);
    return { chunks, done, ...(failure !== undefined && { failure }) };
  }

  return {
    feed: (bytes) => readText(decoder.decode(bytes, { stream: true })),
    end() {
      atEnd = true;
      return readText(`${decoder.decode()}\n\n`);
    },
  };
}

function invalid(message: string): ApiError {
  return new ApiError('upstream_invalid_response', { message });
}
