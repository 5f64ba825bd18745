/** What can end a request at the backend, and what becomes of its record, its key and the caller (contract, section 6). */

import type { ErrorCode } from '../../src/core/errors.ts';
import type { TestSettings } from '../support/settings.ts';
import type { Reply } from '../support/backend.ts';
import type { Told } from './caller.ts';
import { answer, callArguments, finish, stream, text, usageChunk } from './chunks.ts';

export interface Recorded {
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly code?: ErrorCode;
  readonly usage: 'known' | 'estimated' | 'none';
  readonly incomplete?: 'max_output_tokens' | 'content_filter';
}

interface Expected {
  readonly told: Told;
  readonly record: Recorded | 'none';
  readonly key: 'kept' | 'free';
  /** The header of an HTTP error by which SDKs decide. */
  readonly shouldRetry?: 'false';
}

interface Cause {
  readonly cause: string;
  readonly settings?: TestSettings;
  readonly backend: Reply;
  readonly json: Expected;
  readonly stream: Expected;
  /** Where it is another end for a request for a compaction than for one of JSON. */
  readonly compaction?: Expected;
}

/** What a test lets pass where a cause is about time. */
const LIMIT_MS = 500;

/** How long such a cause takes. */
export function durationMs(settings: TestSettings = {}): number {
  return Object.keys(settings).some((name) => /_MS$|Ms$/.test(name)) ? LIMIT_MS : 0;
}

interface Refusal {
  readonly status: number;
  readonly body: object;
  readonly code: ErrorCode;
  readonly retry?: true;
}

/** Nothing ran, so the caller may use the key again. */
const REFUSALS: readonly Refusal[] = [
  { status: 400, body: error('bad temperature'), code: 'invalid_request' },
  { status: 400, body: error('too long', 'context_length_exceeded'), code: 'context_length_exceeded' },
  { status: 402, body: error('no money'), code: 'insufficient_credits' },
  { status: 404, body: error('no such model', 'model_not_found'), code: 'model_not_found' },
  { status: 413, body: error('too large'), code: 'payload_too_large' },
  { status: 422, body: error('not processable'), code: 'invalid_request' },
  { status: 429, body: error('slow down'), code: 'rate_limit_exceeded', retry: true },
];

const OWN_KEY = { AUTH_MODE: 'static', API_KEYS: 'test-key', UPSTREAM_API_KEY: 'own-key' };

/** Refusals as well, but of what the operator has set: nothing ran, and the caller is not told to mend it. */
const MISCONFIGURED: readonly { readonly what: string; readonly backend: Reply; readonly settings?: TestSettings }[] = [
  ...[401, 402, 403].map((status) => ({
    what: `a backend that answers ${status} to the gateway's own key`,
    backend: { json: error('no'), status },
    settings: OWN_KEY,
  })),
  { what: 'a backend with a 404 that is not about the model', backend: { text: '<html></html>', status: 404 } },
];

interface Failure {
  readonly what: string;
  readonly backend: Reply;
  readonly settings?: TestSettings;
  readonly status: number;
  readonly code: ErrorCode;
}

/** It may have run, so the key stays taken. */
const BROKEN: readonly Failure[] = [
  { what: 'a backend that answers 500', backend: { json: {}, status: 500 }, status: 502, code: 'upstream_error' },
  { what: 'a backend that answers 503', backend: { json: {}, status: 503 }, status: 503, code: 'upstream_error' },
  { what: 'a backend that answers 504', backend: { json: {}, status: 504 }, status: 504, code: 'upstream_timeout' },
  {
    what: 'a backend that never begins to answer',
    backend: ({ hang }) => hang(),
    settings: { FIRST_BYTE_TIMEOUT_MS: String(LIMIT_MS) },
    status: 504,
    code: 'upstream_timeout',
  },
  {
    what: 'a backend that begins with nothing but headers',
    backend: async ({ start, hang }) => {
      start();
      await hang();
    },
    settings: { FIRST_BYTE_TIMEOUT_MS: String(LIMIT_MS) },
    status: 504,
    code: 'upstream_timeout',
  },
  {
    what: 'a backend that closes the connection without an answer',
    backend: ({ cut }) => cut(),
    status: 502,
    code: 'upstream_error',
  },
  {
    what: 'a backend that answers with a web page',
    backend: { text: '<html></html>', headers: { 'content-type': 'text/html' } },
    status: 502,
    code: 'upstream_invalid_response',
  },
  { what: 'a backend with an empty answer', backend: { text: '' }, status: 502, code: 'upstream_invalid_response' },
  { what: 'a backend with nothing to say', backend: { sse: [] }, status: 502, code: 'upstream_invalid_response' },
  {
    what: 'a backend that breaks off in the middle of its JSON',
    backend: async ({ start, write, cut }) => {
      start(200, { 'content-type': 'application/json' });
      await write('{"choices": [{"index": 0, "message": {"content": "Hel');
      cut();
    },
    status: 502,
    code: 'upstream_error',
  },
  {
    what: 'a stream that begins with an error',
    backend: { sse: [error('out of memory', 500)] },
    status: 502,
    code: 'upstream_error',
  },
];

/** Something was said before. */
const LATE: readonly (Failure & { readonly usage: 'known' | 'estimated' })[] = [
  {
    what: 'a backend that breaks off in the middle of the text',
    backend: stream([text('Hello, wor')], 'cut'),
    status: 502,
    code: 'upstream_error',
    usage: 'estimated',
  },
  {
    what: 'a backend that breaks off in the middle of the arguments',
    backend: stream([callArguments('{"place": "Ber')], 'cut'),
    status: 502,
    code: 'upstream_error',
    usage: 'estimated',
  },
  {
    what: 'a backend that breaks off after it told the usage',
    backend: stream([text('Hello, wor'), usageChunk], 'cut'),
    status: 502,
    code: 'upstream_error',
    usage: 'known',
  },
  {
    what: 'a stream that ends without its end',
    backend: stream([text('Hello, wor')], 'end'),
    status: 502,
    code: 'upstream_error',
    usage: 'estimated',
  },
  {
    what: 'a backend that goes silent',
    backend: stream([text('Hello, wor')], 'hang'),
    settings: { IDLE_TIMEOUT_MS: String(LIMIT_MS) },
    status: 504,
    code: 'upstream_timeout',
    usage: 'estimated',
  },
  {
    what: 'an error in the middle of the text',
    backend: stream([text('Hello, wor'), error('out of memory', 500)], 'end'),
    status: 502,
    code: 'upstream_error',
    usage: 'estimated',
  },
  {
    what: 'a rate limit in the middle of the text',
    backend: stream([text('Hello, wor'), error('slow down', 429)], 'end'),
    status: 429,
    code: 'rate_limit_exceeded',
    usage: 'estimated',
  },
  {
    what: 'a key that expires in the middle of the text',
    backend: stream([text('Hello, wor'), error('expired', 401)], 'end'),
    status: 401,
    code: 'invalid_api_key',
    usage: 'estimated',
  },
  {
    what: 'a backend that gives up on its answer',
    backend: stream([text('Hello, wor'), finish('error')], 'end'),
    status: 502,
    code: 'upstream_error',
    usage: 'estimated',
  },
  {
    what: 'an answer that ends within its arguments for a reason that nobody knows',
    backend: stream([callArguments('{"place": "Ber'), finish('other'), usageChunk], 'end'),
    status: 502,
    code: 'upstream_error',
    usage: 'known',
  },
];

interface End {
  readonly what: string;
  readonly backend: Reply;
  readonly ends: 'completed' | 'incomplete';
  readonly usage: 'known' | 'estimated';
  readonly incomplete?: 'max_output_tokens' | 'content_filter';
  /** It is no summary, whatever else it is. */
  readonly isNoSummary?: true;
}

const ENDS: readonly End[] = [
  { what: 'an answer that stops', backend: answer(), ends: 'completed', usage: 'known' },
  {
    what: 'an answer with a tool call',
    backend: { sse: [callArguments('{}'), finish('tool_calls'), usageChunk] },
    ends: 'completed',
    usage: 'known',
    isNoSummary: true,
  },
  { what: 'an answer without usage', backend: answer('Hello', 'stop', null), ends: 'completed', usage: 'estimated' },
  {
    what: 'an answer cut by its length',
    backend: answer('Hello', 'length'),
    ends: 'incomplete',
    usage: 'known',
    incomplete: 'max_output_tokens',
  },
  {
    what: 'an answer cut by a filter',
    backend: answer('Hello', 'content_filter', null),
    ends: 'incomplete',
    usage: 'estimated',
    incomplete: 'content_filter',
    isNoSummary: true,
  },
  {
    what: 'a connection that breaks after the finish reason',
    backend: stream([text('Hello'), finish('stop')], 'cut'),
    ends: 'completed',
    usage: 'estimated',
  },
];

interface AfterHeaders {
  readonly status: number;
  readonly code: ErrorCode;
  readonly record?: 'none';
  readonly key: 'kept' | 'free';
  readonly retry?: true;
}

const AFTER_HEADERS: readonly AfterHeaders[] = [
  { status: 400, code: 'invalid_request', key: 'free' },
  { status: 401, code: 'invalid_api_key', record: 'none', key: 'free' },
  { status: 429, code: 'rate_limit_exceeded', key: 'free', retry: true },
  { status: 500, code: 'upstream_error', key: 'kept' },
];

export const CAUSES: readonly Cause[] = [
  ...REFUSALS.map(({ status, body, code, retry }) => ({
    ...both(
      `a backend that answers ${status} (${code})`,
      { json: body, status },
      {
        told: { status, code },
        record: { status: 'failed', code, usage: 'none' },
        key: 'free',
        ...(!retry && { shouldRetry: 'false' as const }),
      },
    ),
  })),
  ...([401, 403] as const).map((status) => {
    const code = status === 401 ? 'invalid_api_key' : 'forbidden';
    const told = { status, code } as const;
    const refusal = { json: { error: { message: 'no' } }, status };
    return both(`a backend that answers ${status} to the caller's key`, refusal, {
      told,
      record: 'none',
      key: 'free',
      shouldRetry: 'false',
    });
  }),
  ...MISCONFIGURED.map(({ what, backend, settings }) => ({
    ...both(what, backend, {
      told: { status: 502, code: 'upstream_error' },
      record: { status: 'failed', code: 'upstream_error', usage: 'none' },
      key: 'free',
      shouldRetry: 'false',
    }),
    ...(settings && { settings }),
  })),
  ...BROKEN.map(({ what, backend, settings, status, code }) => ({
    ...both(what, backend, {
      told: { status, code },
      record: { status: 'failed', code, usage: 'none' },
      key: 'kept',
      shouldRetry: 'false',
    }),
    ...(settings && { settings }),
  })),
  ...LATE.map(({ what, backend, settings, status, code, usage }) => {
    const record = { status: 'failed', code, usage } as const;
    return {
      cause: what,
      backend,
      ...(settings && { settings }),
      json: { told: { status, code }, record, key: 'kept', shouldRetry: 'false' } as const,
      stream: { told: { ends: 'failed', code }, record, key: 'kept' } as const,
    };
  }),
  ...ENDS.map(({ what, backend, ends, usage, incomplete, isNoSummary }) => {
    const record = { status: 'succeeded', usage, ...(incomplete && { incomplete }) } as const;
    const code = 'upstream_invalid_response';
    return {
      ...both(what, backend, { told: { ends }, record, key: 'kept' }),
      compaction: isNoSummary
        ? ({
            told: { status: 502, code },
            record: { status: 'failed', code, usage },
            key: 'kept',
            shouldRetry: 'false',
          } as const)
        : // A summary that was cut short is told, and the record says what it is.
          ({ told: { ends: 'completed' }, record, key: 'kept' } as const),
    };
  }),
  ...AFTER_HEADERS.map(({ status, code, record, key, retry }) => {
    const recorded = record === 'none' ? record : ({ status: 'failed', code, usage: 'none' } as const);
    return {
      cause: `a backend that answers ${status} after the headers of the stream had to go out`,
      settings: { headerHoldMs: 20 },
      backend: refuseAfter(60, status),
      json: {
        told: { status: status < 500 ? status : 502, code },
        record: recorded,
        key,
        ...(!retry && { shouldRetry: 'false' as const }),
      },
      stream: { told: { ends: 'failed', code }, record: recorded, key },
    } as const;
  }),
];

function both(cause: string, backend: Reply, expected: Expected): Cause {
  return { cause, backend, json: expected, stream: expected };
}

function refuseAfter(ms: number, status: number): Reply {
  return async ({ start, wait, end }) => {
    await wait(ms);
    start(status, { 'content-type': 'application/json' });
    end(JSON.stringify(error('no')));
  };
}

function error(message: string, code?: unknown): object {
  return { error: { message, ...(code !== undefined && { code }) } };
}
