/** What the table of routes is written in, and what its parts share. */

import type { ErrorCode } from '../../core/errors.ts';
import type { JsonObject, SchemaRef } from './openapi-schemas.ts';

export interface Operation {
  /** Of its function in generated clients. */
  readonly id: string;
  readonly method: 'get' | 'post' | 'patch' | 'delete';
  readonly path: string;
  /** The same, by another name. */
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

/** A code with the status of its row in the error table, or with another one that it is sent with as well. */
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
  /** Whether the body may be left out altogether. */
  readonly isOptional?: boolean;
}

/** What goes over a WebSocket, which OpenAPI has no words for. */
export interface FrameSchemas {
  /** All of these together describe a frame of the client. */
  readonly takes: readonly SchemaRef[];
  /** One of these describes a frame of the gateway. */
  readonly sends: readonly SchemaRef[];
}

export interface ReplyDescription {
  readonly description: string;
  /** By media type; undefined where the form is not the gateway's to say. */
  readonly content?: Readonly<Record<string, SchemaRef | undefined>>;
  readonly headers?: readonly HeaderName[];
}

export type HeaderName = keyof typeof HEADERS;

export const TAGS = {
  Responses: 'Translated for the chat completions backend. Nothing of the content is stored.',
  Requests: 'The durable record of each request, and its cancel.',
  'Chat completions': "The backend's own API under the same base URL and the same key.",
  Account: 'What the caller used, and what the key may do.',
  Admin: 'Keys, credits and usage, for whoever has the `ADMIN_TOKEN`.',
  Operation: 'For those who run the gateway.',
} as const;

export const AUTH = {
  apiKey: 'The API key of the caller.',
  adminToken: 'The `ADMIN_TOKEN` of the gateway.',
  metricsToken: 'The `METRICS_TOKEN` of the gateway.',
} as const;

export const HEADERS = {
  'x-request-id': 'The `request_id` of the record, where there is one; else a fresh id.',
  'x-upstream-request-id': "The backend's own id of the request.",
  'x-dropped-tools': 'The types of the tools that were left out, since only a server could execute them.',
  'x-dropped-items': 'The types of the input items that were left out, since the model cannot be told of them here.',
  'x-should-retry': '`false` where the same request would fail again.',
  'retry-after': 'After how many seconds the request may be sent again.',
  location: 'Where the record is.',
  'idempotency-replayed': '`true` where the request was made before.',
} as const;

/** How a path refuses that needs a key. Whoever shows wrong ones too often has to wait. */
export const BEHIND_KEY = [
  'invalid_request',
  'missing_api_key',
  'invalid_api_key',
  'rate_limit_exceeded',
  'store_unavailable',
  'internal_error',
] as const;

/** How a path refuses that takes a body, beside `invalid_request`. */
export const WITH_BODY = [
  'invalid_json',
  'payload_too_large',
  'unsupported_media_type',
  'unsupported_content_encoding',
] as const;

export const PAGE_SIZE: Parameter = {
  name: 'limit',
  in: 'query',
  description: 'How many at most.',
  schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
};
export const AFTER: Parameter = {
  name: 'after',
  in: 'query',
  description: 'The last id of the page before.',
  schema: { type: 'string' },
};

export const SPAN_OF_TIME: readonly Parameter[] = [
  {
    name: 'per',
    in: 'query',
    description: 'How long each span is.',
    schema: { enum: ['hour', 'day', 'month'], default: 'day' },
  },
  {
    name: 'from',
    in: 'query',
    description: 'From when on, as Unix time in seconds or as a UTC time such as `2026-03-01` or `2026-03-01T12:30Z`.',
    schema: { type: 'string' },
  },
  { name: 'until', in: 'query', description: 'Until when; now by default.', schema: { type: 'string' } },
];
