/** The bytes of the backend's answer, whatever they turn out to be, as chunks. */

import { chunkFromCompletion } from '../core/reply/completion.ts';
import { ApiError } from '../core/errors.ts';
import { isObject, isSpace, readJson } from '../core/json.ts';
import { errorIn, readErrorBody } from './error-body.ts';
import type { ReplyHeaders } from './reply-headers.ts';
import { createSseReader, type SseRead, type SseReader } from './sse.ts';

export interface AnswerReader extends SseReader {
  /** What came is more than space and comments. */
  readonly hasBegun: boolean;
}

export interface AnswerReaderOptions {
  /** What an error in the body means, whose JSON or text it gets. */
  readonly toError: (body: string) => ApiError;
  readonly onOperatorProblem: ((problem: string) => void) | undefined;
}

type AnswerKind = 'stream' | 'completion' | 'neither';

const MAX_COMPLETION_BYTES = 64 * 1024 * 1024;
const NOTHING: SseRead = { chunks: [], done: false };

/**
 * Reads an answer that has these headers. What the body is decides its first byte, then its content type: some send JSON as
 * an event stream, or a stream without any content type. Throws ApiError when it is compressed.
 */
export function createAnswerReader(headers: ReplyHeaders, options: AnswerReaderOptions): AnswerReader {
  if (!isPlain(headers)) throw invalid('The backend sent a compressed answer, although it was asked not to.');
  const type = contentType(headers);
  let head: Uint8Array = new Uint8Array();
  let reader: SseReader | undefined;

  const answer = {
    hasBegun: false,
    feed(bytes: Uint8Array): SseRead {
      if (reader !== undefined) return note(reader.feed(bytes));
      head = withoutLeadingSpace(head.length === 0 ? bytes : Buffer.concat([head, bytes]));
      const kind = kindOf(head, type, false);
      if (kind === undefined) return NOTHING;
      reader = open(kind);
      return note(reader.feed(head));
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

/** Without its parameters, in lower case; empty when there is none. */
export function contentType(headers: ReplyHeaders): string {
  return String(headers['content-type'] ?? '')
    .split(';', 1)
    .join()
    .trim()
    .toLowerCase();
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

function neither(head: Uint8Array, { onOperatorProblem }: AnswerReaderOptions): ApiError {
  if (head.length === 0) return invalid('The backend sent an empty answer.');
  if (head[0] !== '<'.charCodeAt(0)) return invalid('The backend sent an answer that is no chat completion.');
  onOperatorProblem?.(
    'The backend answered a chat completion with a web page: check UPSTREAM_BASE_URL (with its /v1).',
  );
  return invalid('The backend sent a web page in place of a chat completion.');
}

function createFailure(failure: ApiError): SseReader {
  return { feed: () => ({ ...NOTHING, failure }), end: () => ({ ...NOTHING, failure }) };
}

/** A whole completion is one chunk, at its end. */
function createCompletionReader({ toError }: AnswerReaderOptions): SseReader {
  const pieces: Uint8Array[] = [];
  let length = 0;
  return {
    feed(bytes) {
      length += bytes.length;
      if (length > MAX_COMPLETION_BYTES) {
        pieces.length = 0;
        return { ...NOTHING, failure: invalid('The backend sent an answer that is too large.') };
      }
      pieces.push(bytes);
      return NOTHING;
    },
    end: () => readCompletion(Buffer.concat(pieces).toString(), toError),
  };
}

function readCompletion(text: string, toError: AnswerReaderOptions['toError']): SseRead {
  const completion = readJson(text);
  if (isObject(completion)) {
    const error = errorIn(completion);
    if (error !== undefined) return { ...NOTHING, failure: toError(bodyOf(error)) };
    if (Array.isArray(completion['choices'])) return { chunks: [chunkFromCompletion(completion)], done: true };
  }
  // Not a completion. A 200 with an explanation in it is still an explanation (Google sends its error in a list).
  const isExplained = completion !== undefined && readErrorBody(text).message !== '';
  const failure = isExplained ? toError(text) : invalid('The backend sent an answer that is no chat completion.');
  return { ...NOTHING, failure };
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

/** Space and a byte order mark: some backends send empty lines for as long as they think. */
function withoutLeadingSpace(bytes: Uint8Array): Uint8Array {
  let start = 0;
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) start = 3;
  while (isSpace(bytes[start])) start++;
  return bytes.subarray(start);
}

function invalid(message: string): ApiError {
  return new ApiError('upstream_invalid_response', { message });
}
