type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'insufficient_quota'
  | 'rate_limit_error'
  | 'server_error';

interface ErrorRow {
  readonly status: number;
  readonly type: ErrorType;
  /** Contains nothing of the request, so that records and logs may hold it. */
  readonly message: string;
}

const invalid = (status: number, message: string) => ({ status, type: 'invalid_request_error', message }) as const;
const server = (status: number, message: string) => ({ status, type: 'server_error', message }) as const;

export const ERRORS = {
  content_filter: invalid(400, 'The content filter of the backend rejected the input.'),
  invalid_json: invalid(400, 'The body is not valid JSON.'),
  invalid_request: invalid(400, 'The request is not valid.'),
  missing_required_parameter: invalid(400, 'A required parameter is missing.'),
  unsupported_parameter: invalid(400, 'A parameter is not supported.'),
  unsupported_tool: invalid(400, 'A tool is not supported.'),
  previous_response_not_found: invalid(400, 'The previous response was not found.'),
  websocket_connection_limit_reached: invalid(400, 'This connection has reached its maximum age. Open a new one.'),
  invalid_idempotency_key: invalid(400, 'The Idempotency-Key is not valid.'),
  context_length_exceeded: invalid(400, 'The input exceeds the context window of the model.'),
  missing_api_key: { status: 401, type: 'authentication_error', message: 'No API key was provided.' },
  invalid_api_key: { status: 401, type: 'authentication_error', message: 'The API key is not valid.' },
  insufficient_credits: { status: 402, type: 'insufficient_quota', message: 'The credits do not cover the request.' },
  spend_limit_exceeded: { status: 402, type: 'insufficient_quota', message: 'The spend limit has been reached.' },
  forbidden: { status: 403, type: 'authentication_error', message: 'The API key may not do this.' },
  model_not_found: invalid(404, 'The model was not found.'),
  request_not_found: invalid(404, 'The request was not found.'),
  not_found: invalid(404, 'The path was not found.'),
  method_not_allowed: invalid(405, 'The method is not allowed on this path.'),
  request_timeout: invalid(408, 'The body arrived too slowly.'),
  host_not_allowed: invalid(421, 'This gateway does not serve the host that the request names.'),
  duplicate_request: invalid(409, 'A request with this Idempotency-Key and body already exists.'),
  request_cancelled: invalid(409, 'The request was cancelled.'),
  payload_too_large: invalid(413, 'The body is too large.'),
  unsupported_media_type: invalid(415, 'The Content-Type is not supported.'),
  unsupported_content_encoding: invalid(415, 'The Content-Encoding is not supported.'),
  concurrency_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    message: 'This caller already uses its share of the gateway. Try again when some of its requests have ended.',
  },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error', message: 'The rate limit has been reached.' },
  insufficient_quota: {
    status: 429,
    type: 'rate_limit_error',
    message: 'The account at the backend has no quota left.',
  },
  upstream_error: server(502, 'The backend failed.'),
  upstream_unreachable: server(502, 'The backend could not be reached.'),
  upstream_invalid_response: server(502, 'The backend sent an answer that could not be understood.'),
  internal_error: server(502, 'The gateway failed.'),
  gateway_draining: server(503, 'The gateway is shutting down.'),
  server_overloaded: server(503, 'The gateway is overloaded.'),
  no_backend_available: server(503, 'All backends for this model failed a moment ago.'),
  store_unavailable: server(
    503,
    'The request store is not available. See /docs/troubleshooting#503-store_unavailable.',
  ),
  upstream_timeout: server(504, 'The backend did not answer in time.'),
  client_disconnected: invalid(499, 'The client closed the connection.'),
  gateway_interrupted: server(503, 'The gateway stopped before the request was finished.'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

/** What a record says of its error. A request that a limit of the gateway refuses has no record. */
export function messageInRecord(code: ErrorCode): string {
  return code === 'rate_limit_exceeded' ? "The backend's rate limit is reached." : ERRORS[code].message;
}

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERRORS, value);
}

/** A strict client loses the message unless all four fields are strings. */
export interface ErrorBody {
  readonly error: { readonly message: string; readonly type: string; readonly param: string; readonly code: string };
}

export interface ApiErrorOptions {
  /** The default is the message of the table. A message never holds a secret or a stack. */
  readonly message?: string;
  readonly param?: string;
  readonly status?: number;
  /** Reply headers with names in lower case, such as `retry-after`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** An error that the caller or the backend caused. Any other throw is a mistake of the gateway. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly type: ErrorType;
  readonly status: number;
  readonly param: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    const row: ErrorRow = ERRORS[code];
    const { stackTraceLimit } = Error;
    // Floods are made of them, and to write the stack down takes a tenth of the CPU of a refusal.
    if (row.type === 'rate_limit_error') Error.stackTraceLimit = 0;
    super(options.message ?? row.message, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.code = code;
    this.type = row.type;
    this.status = options.status ?? row.status;
    this.param = options.param ?? '';
    this.headers = options.headers ?? {};
  }

  toBody(): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}

/** Returns any throw as an ApiError. `internal_error` reveals nothing of our own mistakes. */
export function toApiError(thrown: unknown): ApiError {
  return thrown instanceof ApiError ? thrown : new ApiError('internal_error', { cause: thrown });
}

/** Returns whether the caller ended the request. The record of such a failure is `cancelled`. */
export function isCancel(failure: ApiError | null): boolean {
  return failure?.code === 'request_cancelled' || failure?.code === 'client_disconnected';
}

/** Returns the message of a thrown Error, for the log of the operator. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : 'unknown reason';
}

/** Returns the code of an error of Node or of a library; empty for one without. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
}

/** Ends a `switch` over a union, so that a new member fails to compile. Throws a TypeError. */
export function unreachable(value: never): never {
  throw new TypeError(`unexpected value of type ${typeof value}`);
}
