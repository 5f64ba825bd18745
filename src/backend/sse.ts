import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { ChatBatch, ChunkOrWords } from '../core/chat.ts';
import { isObject, readJson } from '../core/json.ts';
import { ApiError } from '../core/errors.ts';
import { excessOf, LARGE_BYTES } from '../core/json-size.ts';
import { errorIn } from './error-body.ts';
import { learnRepeatedChunk, type RepeatedChunk } from './repeated-chunk.ts';

const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024;
/** Some backends repeat no chunk, such as with a new id in each. */
const MAX_LESSONS_IN_VAIN = 4;

/** A failure comes after the chunks of its read and ends the stream. */
export interface SseRead extends ChatBatch {
  readonly failure?: ApiError;
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
  const decoder = new TextDecoder();
  const parser = createParser({
    onEvent,
    onError(error) {
      // The standard ignores unknown fields and bad `retry` lines.
      if (error.type === 'max-buffer-size-exceeded')
        failure ??= invalid('The backend sent an event that is too large.');
    },
    maxBufferSize: MAX_EVENT_CHARACTERS,
  });
  let chunks: ChunkOrWords[] = [];
  let done = false;
  let failure: ApiError | undefined;
  let atEnd = false;
  let repeated: RepeatedChunk | undefined;
  let lessonsInVain = 0;
  let betweenEvents = false;

  function onEvent(event: EventSourceMessage): void {
    if (done || failure !== undefined) return;
    const data = event.data.trim();
    if (data.length > LARGE_BYTES && excessOf(Buffer.from(data)) !== undefined) {
      failure = invalid('The backend sent an event that is too large.');
      return;
    }
    if (data === '[DONE]') {
      done = true;
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
      if (error === undefined) chunks.push(chunk);
      else failure = toFailure(error);
      repeated = lessonsInVain < MAX_LESSONS_IN_VAIN ? learnRepeatedChunk(data, chunk) : undefined;
      if (repeated !== undefined) lessonsInVain += 1;
    } else if (!atEnd) {
      // At the end an event may be cut. The translator notices that the finish reason is missing.
      failure = invalid('The backend sent an event that is not a JSON object.');
    }
  }

  function readText(text: string): SseRead {
    if (isOver()) return { chunks: [], done: false };
    chunks = [];
    for (let at = 0; at < text.length && !isOver();) at = readRepeated(text, at) ?? parse(text, at);
    return failure === undefined ? { chunks, done } : { chunks, done, failure };
  }

  function isOver(): boolean {
    return done || failure !== undefined;
  }

  /** Returns where the next event begins, or undefined if the parser must read this one. */
  function readRepeated(text: string, at: number): number | undefined {
    const event = betweenEvents ? repeated?.match(text, at) : undefined;
    if (event === undefined) return undefined;
    lessonsInVain = 0;
    chunks.push(event.words);
    return event.end;
  }

  function parse(text: string, at: number): number {
    const blankLine = text.indexOf('\n\n', at);
    const end = blankLine < 0 ? text.length : blankLine + 2;
    parser.feed(text.slice(at, end));
    betweenEvents = blankLine >= 0;
    return end;
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
