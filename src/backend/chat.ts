import type { ChatBatch, ChatRequest } from '../core/chat.ts';
import type { ApiError } from '../core/errors.ts';
import { readAnswer, readRefusal, relayAnswer, type AnswerOptions, type Refusal, type RelayedRead } from './answer.ts';
import { contentType } from './answer-reader.ts';
import { openConnection, openPool, type BackendConnection } from './connection.ts';
import { type BackendFailure, failureOf, type KeyOwner } from './failures.ts';
import { passedOnHeaders, withoutLimits, type ReplyHeaders } from './reply-headers.ts';
import type { StopSignal } from '../core/stop-signal.ts';

export interface ChatBackend {
  /**
   * Sends one request and hands its answer to the listener, each read in the turn in which it arrives. Resolves at the end of
   * the answer. Throws ApiError, the reason of an aborted signal, or what the listener throws.
   */
  ask(request: ChatRequest, options: AskOptions, listener: AnswerListener): Promise<void>;
  /** Breaks what still runs. */
  close(): Promise<void>;
}

/** The same backend for requests that are passed on instead of translated. */
export interface ChatRelay {
  /**
   * Sends a request whose bytes are the client's own. Resolves at the end of the answer, or with a refusal that is for the
   * client. Throws ApiError for what is not for the client's eyes, the reason of an aborted signal, or what the listener throws.
   */
  relay(request: RelayRequest, options: AskOptions, listener: RelayListener): Promise<RelayedRefusal | undefined>;
}

/** The connections to the backend which are open at the moment. */
export interface Connected {
  connections(): { readonly busy: number; readonly idle: number };
}

export interface AskOptions {
  /** Its abort closes the socket to the backend at once, in any phase. */
  readonly signal: StopSignal;
  /** What is passed on to the backend, such as `authorization`; the allow-list is the caller's business. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Who hears the answer of the backend. */
export interface AnswerListener {
  /** The backend has answered 2xx, and the first thing that it says has been read and is no error. Called once, and first. */
  begin(answer: BegunAnswer): void;
  /**
   * What one read brought. Where it returns a promise, the backend is not read until that resolves, so that a slow client slows
   * the backend down.
   */
  take(batch: ChatBatch): Promise<void> | undefined;
}

export interface BegunAnswer {
  /** The headers of the backend's reply that its caller gets. */
  readonly headers: Readonly<Record<string, string>>;
  /** From now on the answer may take so much time, while its listener keeps up. Past that `ask` throws `upstream_timeout`. */
  limitTotal(timeoutMs: number): void;
}

export interface RelayRequest {
  readonly stream: boolean;
  /** The client wants a stream and did not ask for its usage. */
  readonly canAskForUsage: boolean;
  /** The bytes to send, with or without that question. */
  readonly body: (asksForUsage: boolean) => Buffer;
}

/** Who hears the bytes of an answer that is passed on, beside what they say. */
export interface RelayListener {
  /** The status is known. Where it returns a promise, nothing is read until that resolves. */
  begin(answer: RelayedAnswer): Promise<void> | undefined;
  /** As `AnswerListener.take`. A chunk that was asked for here is not in the bytes. */
  take(read: RelayedRead): Promise<void> | undefined;
}

export interface RelayedAnswer {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly isEventStream: boolean;
}

/** The backend speaks to the client, in JSON. */
export interface RelayedRefusal {
  readonly status: number;
  readonly headers: ReplyHeaders;
  readonly body: Buffer;
  /** What it means. */
  readonly error: ApiError;
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
  /** Set where the gateway has limits of its own, which are the only ones that its callers should see. */
  readonly hidesLimits?: boolean;
  /** Gets a sentence for the log when only the operator can help. It holds nothing of request or answer. */
  readonly onOperatorProblem?: (problem: string) => void;
}

/** Identity, since nobody here unpacks; the others are what every backend expects. */
const OWN_HEADERS = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'responses-gateway',
} as const;

/** What is sent, with and without the question for usage. */
interface Sending {
  readonly body: (asksForUsage: boolean) => string | Buffer;
  readonly canAskForUsage: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: StopSignal;
}

interface Replied {
  readonly connection: BackendConnection;
  /** As far as the caller may know them. */
  readonly replyHeaders: ReplyHeaders;
}

type Sent = Replied &
  (
    | { readonly kind: 'answered'; readonly askedForUsage: boolean }
    | { readonly kind: 'refused'; readonly refusal: Refusal }
  );

/**
 * The chat completions backend at `baseUrl`. A request is written at most once: undici tries an idle connection before
 * it is used again, and one that breaks after that is a failure, since a generation that runs twice is paid for twice.
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

  /** Throws the ApiError of a refusal that is not for the client's eyes, or that chat clients could not read. */
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

  /** Asks for usage, and once more without that when the backend refuses the option. */
  async function send(sending: Sending): Promise<Sent> {
    const first = await attempt(sending, sending.canAskForUsage && takesStreamOptions);
    if (first.kind === 'answered' || !first.refusesStreamOptions) return first;
    const second = await attempt(sending, false);
    // Only now is it certain that the option was the reason, and not a prompt that speaks of it.
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

/** JSON, all of it, and no secret in it: chat clients know how to read that. */
function isReadable(
  { headers }: BackendConnection,
  { bytes, isWhole }: Refusal,
  sentHeaders: AskOptions['headers'],
): boolean {
  if (!isWhole || !/^application\/(?:[^/]+\+)?json$/.test(contentType(headers))) return false;
  return !secretsOf(sentHeaders).some((secret) => bytes.includes(secret));
}

/** The values of the headers, bare, so that none of them comes back in an error of the backend. */
function secretsOf(headers: Readonly<Record<string, string>>): string[] {
  return Object.entries(headers)
    .filter(([name]) => /authorization|key|token/i.test(name))
    .map(([, value]) => value.replace(/^bearer\s+/i, ''))
    .filter((secret) => secret !== '');
}
