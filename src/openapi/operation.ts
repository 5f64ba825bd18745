import type { ErrorCode } from '../core/errors.ts';
import type { JsonObject, SchemaRef } from './schemas.ts';

export interface Operation {
  readonly id: string;
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  readonly path: string;
  readonly alias?: string;
  readonly tag: TagName;
  readonly summary: string;
  readonly description?: string;
  readonly auth?: AuthName;
  readonly parameters?: readonly Parameter[];
  readonly body?: RequestBody;
  readonly frames?: FrameSchemas;
  readonly replies: Readonly<Record<string, ReplyDescription>>;
  readonly errors: readonly ErrorRef[];
}

export type TagName = keyof typeof TAGS;
export type AuthName = keyof typeof AUTH;

export type ErrorRef = ErrorCode | readonly [code: ErrorCode, status: string];

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly description: string;
  readonly schema: JsonObject;
}

export interface RequestBody {
  readonly schema: SchemaRef;
  readonly example: JsonObject;
  readonly isOptional?: boolean;
}

export interface FrameSchemas {
  readonly takes: readonly SchemaRef[];
  readonly sends: readonly SchemaRef[];
}

export interface ReplyDescription {
  readonly description: string;
  /** Undefined where the backend decides the form. */
  readonly content?: Readonly<Record<string, SchemaRef | undefined>>;
  readonly headers?: readonly HeaderName[];
}

export type HeaderName = keyof typeof HEADERS;

export const TAGS = {
  Responses: 'Translated for the chat completions backend. The gateway stores no content.',
  Requests: 'The durable record of each request, and its cancel.',
  'Chat completions': "The backend's own API under the same base URL and the same key.",
  Account: 'What the caller used, and what the key may do.',
  Admin: 'Keys, credits and usage. Send the `ADMIN_TOKEN`.',
  Operation: 'For operators of the gateway.',
} as const;

export const AUTH = {
  apiKey: 'The API key of the caller.',
  adminToken: 'The `ADMIN_TOKEN` of the gateway.',
  metricsToken: 'The `METRICS_TOKEN` of the gateway.',
} as const;

export const HEADERS = {
  'x-request-id': 'The `request_id` of the record, or a fresh id if there is no record.',
  'x-upstream-request-id': "The backend's own id of the request.",
  'x-dropped-tools': 'The types of the tools that were left out, because only a server can execute them.',
  'x-dropped-items': 'The types of the input items that were left out, because no model can use them.',
  'x-ignored-parameters': 'The parameters that had no effect, with what to write instead where there is something.',
  'x-should-retry': '`false` if a second try cannot help.',
  'retry-after': 'The seconds to wait before the request is sent again.',
  location: 'The URL of the record.',
  'idempotency-replayed': '`true` if the request was made before.',
} as const;

export const BEHIND_KEY = [
  'invalid_request',
  'missing_api_key',
  'invalid_api_key',
  'rate_limit_exceeded',
  'store_unavailable',
  'internal_error',
] as const;

export const WITH_BODY = [
  'invalid_json',
  'payload_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
] as const;

export const PAGE_SIZE: Parameter = {
  name: 'limit',
  in: 'query',
  description: 'The most entries of a page.',
  schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
};
export const AFTER: Parameter = {
  name: 'after',
  in: 'query',
  description: 'The last id of the previous page.',
  schema: { type: 'string' },
};

export const REQUEST_ID: Parameter = {
  name: 'request_id',
  in: 'path',
  description: 'The id of the request (`req_…`), or that of its response (`resp_…`).',
  schema: { type: 'string' },
};

/** The filters of a list of records. */
export const RECORD_FILTERS: readonly Parameter[] = [
  PAGE_SIZE,
  { ...AFTER, description: 'The `last_id` of the previous page, or any other id of a request.' },
  {
    name: 'status',
    in: 'query',
    description: 'Only records with this status.',
    schema: { enum: ['processing', 'succeeded', 'failed', 'cancelled'] },
  },
  { name: 'model', in: 'query', description: 'Only records of this model.', schema: { type: 'string' } },
  {
    name: 'error_code',
    in: 'query',
    description: 'Only records of requests that ended with this error.',
    schema: { type: 'string' },
  },
  {
    name: 'from',
    in: 'query',
    description:
      'Only requests that arrived then or later: Unix time in seconds, or a UTC time such as `2026-03-01T12:30Z`.',
    schema: { type: 'string' },
  },
  { name: 'until', in: 'query', description: 'Only requests that arrived before.', schema: { type: 'string' } },
];

export const SPAN_OF_TIME: readonly Parameter[] = [
  {
    name: 'per',
    in: 'query',
    description: 'The length of each span.',
    schema: { enum: ['hour', 'day', 'month'], default: 'day' },
  },
  {
    name: 'from',
    in: 'query',
    description: 'The beginning, as Unix time in seconds or as a UTC time such as `2026-03-01` or `2026-03-01T12:30Z`.',
    schema: { type: 'string' },
  },
  { name: 'until', in: 'query', description: 'The end. The default is now.', schema: { type: 'string' } },
];
