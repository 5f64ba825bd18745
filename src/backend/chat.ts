import { Pool } from 'undici';
import type { ChatBatch, ChatRequest } from '../core/chat.ts';
import type { ApiError } from '../core/errors.ts';
import { readAnswer, readRefusal } from './answer.ts';
import { openExchange } from './exchange.ts';
import { type BackendFailure, failureOf, type KeyOwner } from './failures.ts';
import { passedOnHeaders } from './reply-headers.ts';

export interface ChatBackend {
  /**
   * Sends one request. Resolves when the backend has answered 2xx and the first thing it says has been read, so that an
   * error as the first event of a stream is a rejection. Throws ApiError, or the reason of an aborted signal.
   */
  ask(request: ChatRequest, options: AskOptions): Promise<ChatAnswer>;
  /** Breaks what still runs. */
  close(): Promise<void>;
}

export interface AskOptions {
  /** Its abort closes the socket to the backend at once, in any phase. */
  readonly signal: AbortSignal;
  /** What is passed on to the backend, such as `authorization`; the allow-list is the caller's business. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ChatAnswer {
  /** The headers of the backend's reply that its caller gets. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * One batch per read, each read only when it is asked for, so that a slow consumer slows the backend down. Throws
   * ApiError, or the reason of the aborted signal; leaving the loop early aborts the exchange. To be iterated once.
   */
  readonly batches: AsyncIterable<ChatBatch>;
}

export interface ChatBackendOptions {
  /** With its `/v1`; a query (Azure's `api-version`) stays at the end of the path. */
  readonly baseUrl: string;
  readonly keyOwner: KeyOwner;
  readonly connectTimeoutMs: number;
  /** From sending until the first chunk. */
  readonly firstByteTimeoutMs: number;
  /** Between two reads, while we are the one who waits. */
  readonly idleTimeoutMs: number;
  /** Whether `stream_options` may be sent. A backend that refuses it is asked again without, and remembered. */
  readonly streamOptions: boolean;
  /** Gets a sentence for the log when only the operator can help. It holds nothing of request or answer. */
  readonly onOperatorProblem?: (problem: string) => void;
}

/** Identity, since nobody here unpacks; the others are what every backend expects. */
const OWN_HEADERS = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'responses-gateway',
} as const;

type Attempt =
  | { readonly kind: 'answered'; readonly answer: ChatAnswer }
  | { readonly kind: 'refused'; readonly error: ApiError; readonly refusesStreamOptions: boolean };

/**
 * The chat completions backend at `baseUrl`. A request is written at most once: undici tries an idle connection before
 * it is used again, and one that breaks after that is a failure, since a generation that runs twice is paid for twice.
 */
export function createChatBackend(options: ChatBackendOptions): ChatBackend {
  const { origin, path } = toEndpoint(options.baseUrl);
  const pool = new Pool(origin, {
    connections: null,
    pipelining: 1,
    // One request per connection: its abort is then the end of a socket, and its pause holds up nobody else.
    allowH2: false,
    connect: { timeout: options.connectTimeoutMs },
    // The exchange has its own timers.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  let takesStreamOptions = options.streamOptions;

  async function ask(request: ChatRequest, askOptions: AskOptions): Promise<ChatAnswer> {
    const first = await attempt(takesStreamOptions ? request : withoutStreamOptions(request), askOptions);
    if (first.kind === 'answered') return first.answer;
    if (!first.refusesStreamOptions) throw first.error;
    const second = await attempt(withoutStreamOptions(request), askOptions);
    if (second.kind === 'refused') throw second.error;
    // Only now is it certain that the option was the reason, and not a prompt that speaks of it.
    takesStreamOptions = false;
    return second.answer;
  }

  async function attempt(request: ChatRequest, { headers, signal }: AskOptions): Promise<Attempt> {
    const secrets = secretsOf(headers);
    const exchange = await openExchange(pool, {
      path,
      headers: {
        ...headers,
        ...OWN_HEADERS,
        accept: request.stream === true ? 'text/event-stream' : 'application/json',
      },
      body: JSON.stringify(request),
      signal,
      firstByteTimeoutMs: options.firstByteTimeoutMs,
    });
    const toError = (body: string): ApiError =>
      report(
        failureOf({ status: exchange.status, headers: exchange.headers, body, keyOwner: options.keyOwner, secrets }),
      );
    if (exchange.status >= 200 && exchange.status < 300) {
      const { idleTimeoutMs, onOperatorProblem } = options;
      const batches = await readAnswer(exchange, { toError, signal, idleTimeoutMs, onOperatorProblem });
      return { kind: 'answered', answer: { headers: passedOnHeaders(exchange.headers), batches } };
    }
    const body = await readRefusal(exchange, signal);
    const refusesStreamOptions = request.stream_options !== undefined && speaksOfStreamOptions(exchange.status, body);
    return { kind: 'refused', error: toError(body), refusesStreamOptions };
  }

  function report({ error, operatorProblem }: BackendFailure): ApiError {
    if (operatorProblem !== undefined) options.onOperatorProblem?.(operatorProblem);
    return error;
  }

  return { ask, close: () => pool.destroy() };
}

function toEndpoint(baseUrl: string): { readonly origin: string; readonly path: string } {
  const url = new URL(baseUrl);
  return { origin: url.origin, path: `${url.pathname.replace(/\/+$/, '')}/chat/completions${url.search}` };
}

function withoutStreamOptions(request: ChatRequest): ChatRequest {
  const { stream_options: _left, ...rest } = request;
  return rest;
}

function speaksOfStreamOptions(status: number, body: string): boolean {
  return (status === 400 || status === 422) && /stream_options|include_usage/.test(body);
}

/** The values of the headers, bare, so that none of them comes back in an error of the backend. */
function secretsOf(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => /authorization|key|token/i.test(name))
    .map(([, value]) => value.replace(/^bearer\s+/i, ''));
}
