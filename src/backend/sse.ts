import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { ChatBatch, ChunkOrWords } from '../core/chat.ts';
import { isObject, readJson } from '../core/json.ts';
import { ApiError } from '../core/errors.ts';
import { errorIn } from './error-body.ts';
import { learnRepeatedChunk, type RepeatedChunk } from './repeated-chunk.ts';

const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024;
/** A backend whose chunks are all different (a new id in each, say) is not looked at for repetitions any more. */
const MAX_LESSONS_IN_VAIN = 4;

/** What one read brought. A failure ends the stream, after the chunks that came before it. */
export interface SseRead extends ChatBatch {
  readonly failure?: ApiError;
}

export interface SseReader {
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
  let chunks: ChunkOrWords[] = [];
  let done = false;
  let failure: ApiError | undefined;
  let atEnd = false;
  let repeated: RepeatedChunk | undefined;
  let lessonsInVain = 0;
  /** The parser holds nothing: what comes next is the beginning of an event. */
  let betweenEvents = false;

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
      // At the end it is the rest of an event that was cut, which is for the translator to notice: no finish reason came.
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

  /** Takes an event that repeats the one before; returns where the next begins, or undefined when it is for the parser. */
  function readRepeated(text: string, at: number): number | undefined {
    const event = betweenEvents ? repeated?.match(text, at) : undefined;
    if (event === undefined) return undefined;
    lessonsInVain = 0;
    chunks.push(event.words);
    return event.end;
  }

  /** Gives the parser the rest of the event at hand, or all there is where the backend ends its lines in another way. */
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
