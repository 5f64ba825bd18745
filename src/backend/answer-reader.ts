import { chunkFromCompletion, chunkFromUnparsed } from '../core/reply/completion.ts';
import type { ChatChunk } from '../core/chat.ts';
import { ApiError } from '../core/errors.ts';
import { isObject, isSpace, readJson } from '../core/json.ts';
import { excessOf } from '../core/json-size.ts';
import { NO_BYTES } from './byte-filter.ts';
import { errorIn, readErrorBody, speaksOfError } from './error-body.ts';
import type { SettingNames } from './failures.ts';
import type { ReplyHeaders } from './reply-headers.ts';
import { createSseReader, type SseRead, type SseReader } from './sse.ts';

export interface AnswerReader extends SseReader {
  readonly hasBegun: boolean;
}

export interface AnswerReaderOptions {
  readonly toError: (body: string) => ApiError;
  readonly onOperatorProblem: ((problem: string) => void) | undefined;
  readonly settings: SettingNames;
}

type AnswerKind = 'stream' | 'completion' | 'neither';

/** A larger one would hold the process for more than 0.1 s at a time. */
const MAX_COMPLETION_BYTES = 8 * 1024 * 1024;
const NOTHING: SseRead = { chunks: [], done: false };

/**
 * Returns a reader for an answer with these headers. The first byte of the body counts before the
 * content type: some backends send JSON as an event stream. Throws ApiError if the body is
 * compressed.
 */
export function createAnswerReader(headers: ReplyHeaders, options: AnswerReaderOptions): AnswerReader {
  if (!isPlain(headers)) throw invalid('The backend sent a compressed answer, although it was asked not to.');
  const type = contentType(headers);
  let head = NO_BYTES;
  let reader: SseReader | undefined;

  const answer = {
    hasBegun: false,
    feed(bytes: Uint8Array): SseRead {
      if (reader !== undefined) return note(reader.feed(bytes));
      head = withoutLeadingSpace(head.length === 0 ? bytes : Buffer.concat([head, bytes]));
      const kind = kindOf(head, type, false);
      if (kind === undefined) return NOTHING;
      reader = open(kind);
      const first = head;
      // It would stay in memory for as long as the stream is open.
      head = NO_BYTES;
      return note(reader.feed(first));
    },
    end(): SseRead {
      reader ??= open(kindOf(head, type, true) ?? 'neither');
      return note(reader.end());
    },
  };
  return answer;

  function open(kind: AnswerKind): SseReader {
    switch (kind) {
      case 'stream':
        return createSseReader((error) => options.toError(bodyOf(error)));
      case 'completion':
        answer.hasBegun = true;
        return createCompletionReader(options);
      case 'neither':
        return createFailure(neither(head, options));
    }
  }

  function note(read: SseRead): SseRead {
    if (read.chunks.length > 0 || read.done) answer.hasBegun = true;
    return read;
  }
}

export function isPlain(headers: ReplyHeaders): boolean {
  const encoding = String(headers['content-encoding'] ?? '').trim();
  return encoding === '' || encoding.toLowerCase() === 'identity';
}

/** Returns the content type without parameters, in lower case; empty if there is none. */
export function contentType(headers: ReplyHeaders): string {
  return String(headers['content-type'] ?? '')
    .split(';', 1)
    .join()
    .trim()
    .toLowerCase();
}

function kindOf(head: Uint8Array, type: string, ended: boolean): AnswerKind | undefined {
  const start = Buffer.from(head.subarray(0, 16)).toString('latin1');
  if (/^[{[]/.test(start)) return 'completion';
  if (start.startsWith('<')) return 'neither';
  if (type === 'text/event-stream') return start !== '' || ended ? 'stream' : undefined;
  if (/^(?:data|event|id|retry)?:/.test(start)) return 'stream';
  const isCut = [BYTE_ORDER_MARK, 'data:', 'event:', 'id:', 'retry:'].some((beginning) => beginning.startsWith(start));
  return isCut && !ended ? undefined : 'neither';
}

function neither(head: Uint8Array, { onOperatorProblem, settings }: AnswerReaderOptions): ApiError {
  if (head.length === 0) return invalid('The backend sent an empty answer.');
  if (head[0] !== '<'.charCodeAt(0)) return invalid('The backend sent an answer that is not a chat completion.');
  onOperatorProblem?.(
    `The backend answered a chat completion with a web page: check ${settings.address} (with its /v1).`,
  );
  return invalid('The backend sent a web page instead of a chat completion.');
}

function createFailure(failure: ApiError): SseReader {
  return { feed: () => ({ ...NOTHING, failure }), end: () => ({ ...NOTHING, failure }) };
}

function createCompletionReader({ toError }: AnswerReaderOptions): SseReader {
  const pieces: Uint8Array[] = [];
  let length = 0;
  return {
    feed(bytes) {
      length += bytes.length;
      if (length > MAX_COMPLETION_BYTES) {
        pieces.length = 0;
        return tooLarge({});
      }
      pieces.push(bytes);
      return NOTHING;
    },
    end() {
      const bytes = Buffer.concat(pieces);
      return excessOf(bytes) === undefined ? readCompletion(bytes, toError) : tooLarge(chunkFromUnparsed(bytes));
    },
  };
}

function tooLarge(unparsed: ChatChunk): SseRead {
  return { ...NOTHING, failure: invalid('The backend sent an answer that is too large.'), unparsed };
}

function readCompletion(bytes: Buffer, toError: AnswerReaderOptions['toError']): SseRead {
  const text = bytes.toString();
  const completion = readJson(text);
  if (isObject(completion)) {
    const error = errorIn(completion);
    if (error !== undefined) return { ...NOTHING, failure: toError(bodyOf(error)) };
    const isChat = Array.isArray(completion['choices']) && !speaksOfError(completion);
    if (isChat) return { chunks: [chunkFromCompletion(completion)], done: true };
  }
  // Some backends explain an error with status 200 (Google sends it in a list).
  const isExplained = completion !== undefined && readErrorBody(text).message !== '';
  if (isExplained) return { ...NOTHING, failure: toError(text) };
  const failure = invalid('The backend sent an answer that is not a chat completion.');
  // Python writes and reads NaN, which is no JSON.
  const unparsed = completion === undefined ? chunkFromUnparsed(bytes) : {};
  return { ...NOTHING, failure, ...('choices' in unparsed && { unparsed }) };
}

function bodyOf(error: unknown): string {
  try {
    return JSON.stringify({ error });
  } catch {
    // It is nested so deep that it can be read but not written.
    return '';
  }
}

/** As its bytes are in Latin-1. */
const BYTE_ORDER_MARK = '\xef\xbb\xbf';

/** Removes white space and a byte order mark: some backends send empty lines while they think. */
function withoutLeadingSpace(bytes: Uint8Array): Uint8Array {
  let start = 0;
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) start = 3;
  while (isSpace(bytes[start])) start++;
  return bytes.subarray(start);
}

function invalid(message: string): ApiError {
  return new ApiError('upstream_invalid_response', { message });
}
