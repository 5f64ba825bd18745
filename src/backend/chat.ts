import type { ChatBatch, ChatRequest, Connected } from '../core/chat.ts';
import type { ApiError } from '../core/errors.ts';
import { readAnswer, readRefusal, relayAnswer, type AnswerOptions, type Refusal, type RelayedRead } from './answer.ts';
import { contentType } from './answer-reader.ts';
import { openConnection, openPool, type BackendConnection } from './connection.ts';
import { type BackendFailure, failureOf, type KeyOwner } from './failures.ts';
import { passedOnHeaders, withoutLimits, type ReplyHeaders } from './reply-headers.ts';
import type { StopSignal } from '../core/stop-signal.ts';

export interface ChatBackend {
  /**
   * Resolves at the end of the answer. Throws ApiError, the reason of an aborted signal, or what
   * the listener throws.
   */
  ask(request: ChatRequest, options: AskOptions, listener: AnswerListener): Promise<void>;
  close(): Promise<void>;
}

export interface ChatRelay {
  /**
   * Sends the client's own bytes. Resolves with a refusal that the client may see. Throws ApiError
   * for any other failure, otherwise as `ask` does.
   */
  relay(request: RelayRequest, options: AskOptions, listener: RelayListener): Promise<RelayedRefusal | undefined>;
}

export interface AskOptions {
  readonly signal: StopSignal;
  /** The caller has filtered them. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface AnswerListener {
  /** Called first and once, when the backend has answered 2xx and its first chunk is no error. */
  begin(answer: BegunAnswer): void;
  /**
   * A returned promise pauses the backend until it resolves, so that a slow client slows it down.
   */
  take(batch: ChatBatch): Promise<void> | undefined;
}

export interface BegunAnswer {
  readonly headers: Readonly<Record<string, string>>;
  /** The time in which the listener is busy does not count. */
  limitTotal(timeoutMs: number): void;
}

export interface RelayRequest {
  readonly stream: boolean;
  /** The client wants a stream without its usage. */
  readonly canAskForUsage: boolean;
  readonly body: (asksForUsage: boolean) => Buffer;
}

export interface RelayListener {
  /** Nothing is read before a returned promise resolves. */
  begin(answer: RelayedAnswer): Promise<void> | undefined;
  /** The bytes do not contain a usage chunk that only the gateway asked for. */
  take(read: RelayedRead): Promise<void> | undefined;
}

export interface RelayedAnswer {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly isEventStream: boolean;
}

export interface RelayedRefusal {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: Buffer;
  readonly error: ApiError;
}

export interface ChatBackendOptions {
  /** Includes `/v1`. A query (Azure's `api-version`) is kept. */
  readonly baseUrl: string;
  readonly keyOwner: KeyOwner;
  readonly connectTimeoutMs: number;
  /** From the sending of the request to the first chunk. */
  readonly firstByteTimeoutMs: number;
  /** Between two reads, while the listener is not busy. */
  readonly idleTimeoutMs: number;
  /** If a backend refuses `stream_options`, the request is sent again without it. */
  readonly streamOptions: boolean;
  readonly hidesLimits?: boolean;
  /** Gets a sentence for the log, which contains nothing of request or answer. */
  readonly onOperatorProblem?: (problem: string) => void;
}

/** Answers are not decompressed, hence `identity`. */
const OWN_HEADERS = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'responses-gateway',
} as const;

interface Sending {
  readonly body: (asksForUsage: boolean) => string | Buffer;
  readonly canAskForUsage: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: StopSignal;
}

interface Replied {
  readonly connection: BackendConnection;
  readonly replyHeaders: ReplyHeaders;
}

type Sent = Replied &
  (
    | { readonly kind: 'answered'; readonly askedForUsage: boolean }
    | { readonly kind: 'refused'; readonly refusal: Refusal }
  );

/**
 * Returns the chat completions backend at `baseUrl`. A request is written at most once: a
 * generation that runs twice is paid twice, so a connection that breaks after that is a failure.
 */
export function createChatBackend(options: ChatBackendOptions): ChatBackend & ChatRelay & Connected {
  const { origin, path } = toEndpoint(options.baseUrl);
  const pool = openPool(origin, options);
  let takesStreamOptions = options.streamOptions;

  async function ask(request: ChatRequest, asking: AskOptions, listener: AnswerListener): Promise<void> {
    const { headers, signal } = asking;
    const sent = await send({
      body: (asksForUsage) => JSON.stringify(asksForUsage ? request : withoutStreamOptions(request)),
      canAskForUsage: request.stream_options !== undefined,
      headers: { ...headers, ...OWN_HEADERS, accept: acceptOf(request.stream === true) },
      signal,
    });
    if (sent.kind === 'refused') throw report(toFailure(sent, sent.refusal.bytes.toString(), headers));
    const { connection, replyHeaders } = sent;
    let hasBegun = false;
    await readAnswer(connection, answerOptions(sent, asking), (batch) => {
      begin();
      return listener.take(batch);
    });
    begin();

    function begin(): void {
      if (hasBegun) return;
      hasBegun = true;
      const limitTotal = (timeoutMs: number): void => connection.limitTotal(timeoutMs);
      listener.begin({ headers: passedOnHeaders(replyHeaders), limitTotal });
    }
  }

  async function relay(
    request: RelayRequest,
    asking: AskOptions,
    listener: RelayListener,
  ): Promise<RelayedRefusal | undefined> {
    const { headers, signal } = asking;
    const sent = await send({
      ...request,
      headers: { ...OWN_HEADERS, accept: acceptOf(request.stream), ...headers },
      signal,
    });
    if (sent.kind === 'refused') return toRelayedRefusal(sent, headers);
    const { connection, replyHeaders, askedForUsage: hidesUsage } = sent;
    const { 'content-length': _length, ...unsized } = replyHeaders;
    const answer = {
      status: connection.status,
      headers: hidesUsage ? unsized : replyHeaders,
      isEventStream: contentType(connection.headers) === 'text/event-stream',
    };
    await relayAnswer(
      connection,
      { ...answerOptions(sent, asking), hidesUsage },
      { begin: () => listener.begin(answer), take: (read) => listener.take(read) },
    );
    return undefined;
  }

  function toRelayedRefusal(
    sent: Extract<Sent, { kind: 'refused' }>,
    sentHeaders: AskOptions['headers'],
  ): RelayedRefusal {
    const { connection, replyHeaders, refusal } = sent;
    const { status } = connection;
    const failure = toFailure(sent, refusal.bytes.toString(), sentHeaders);
    const error = report(failure);
    const speaksToClient = failure.operatorProblem === undefined && status >= 400 && status < 500;
    if (!speaksToClient || !isReadable(connection, refusal, sentHeaders)) throw error;
    return { status, headers: replyHeaders, body: refusal.bytes, error };
  }

  async function send(sending: Sending): Promise<Sent> {
    const first = await attempt(sending, sending.canAskForUsage && takesStreamOptions);
    if (first.kind === 'answered' || !first.refusesStreamOptions) return first;
    const second = await attempt(sending, false);
    // Only now is it known that the option was the reason, and not a prompt about it.
    if (second.kind === 'answered') takesStreamOptions = false;
    return second;
  }

  async function attempt(
    { body, headers, signal }: Sending,
    asksForUsage: boolean,
  ): Promise<Sent & { readonly refusesStreamOptions: boolean }> {
    const { firstByteTimeoutMs } = options;
    const connection = await openConnection(pool, {
      path,
      headers,
      body: body(asksForUsage),
      signal,
      firstByteTimeoutMs,
    });
    const replyHeaders = options.hidesLimits === true ? withoutLimits(connection.headers) : connection.headers;
    if (connection.status >= 200 && connection.status < 300) {
      return { kind: 'answered', connection, replyHeaders, askedForUsage: asksForUsage, refusesStreamOptions: false };
    }
    const refusal = await readRefusal(connection, signal);
    const refusesStreamOptions = asksForUsage && speaksOfStreamOptions(connection.status, refusal.bytes.toString());
    return { kind: 'refused', connection, replyHeaders, refusal, refusesStreamOptions };
  }

  function answerOptions(replied: Replied, { headers, signal }: AskOptions): AnswerOptions {
    const { idleTimeoutMs, onOperatorProblem } = options;
    const toError = (body: string): ApiError => report(toFailure(replied, body, headers));
    return { toError, signal, idleTimeoutMs, onOperatorProblem };
  }

  function toFailure(replied: Replied, body: string, sentHeaders: AskOptions['headers']): BackendFailure {
    const { connection, replyHeaders: headers } = replied;
    return failureOf({
      status: connection.status,
      headers,
      body,
      keyOwner: options.keyOwner,
      secrets: secretsOf(sentHeaders),
    });
  }

  function report({ error, operatorProblem }: BackendFailure): ApiError {
    if (operatorProblem !== undefined) options.onOperatorProblem?.(operatorProblem);
    return error;
  }

  return {
    ask,
    relay,
    connections() {
      const { connected, free } = pool.stats;
      return { busy: connected - free, idle: free };
    },
    close: () => pool.destroy(),
  };
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

function acceptOf(stream: boolean): string {
  return stream ? 'text/event-stream' : 'application/json';
}

function isReadable(
  { headers }: BackendConnection,
  { bytes, isWhole }: Refusal,
  sentHeaders: AskOptions['headers'],
): boolean {
  if (!isWhole || !/^application\/(?:[^/]+\+)?json$/.test(contentType(headers))) return false;
  return !secretsOf(sentHeaders).some((secret) => bytes.includes(secret));
}

function secretsOf(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => /authorization|key|token/i.test(name))
    .map(([, value]) => value.replace(/^bearer\s+/i, ''))
    .filter((secret) => secret !== '');
}
