import type { ChatBatch, Connected } from '../core/chat.ts';
import { isEncoded, type ChatBody } from '../core/encoded-chat.ts';
import type { ApiError } from '../core/errors.ts';
import { encodeJson } from '../core/encode-json.ts';
import { lazily } from '../core/lazily.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import { readAnswer, readRefusal, relayAnswer, type AnswerOptions, type Refusal, type RelayedRead } from './answer.ts';
import { contentType } from './answer-reader.ts';
import { openConnection, openPool, type BackendConnection, type PoolOptions, type RequestBody } from './connection.ts';
import { toEndpoint } from './outbound.ts';
import { ONLY_SETTINGS } from './failures.ts';
import { ownSecretsOf, withoutSecrets } from './own-key.ts';
import { judge, refusalForClient, type JudgeOptions, type RelayedRefusal } from './refusal.ts';
import {
  fieldsRefusedIn,
  isWithin,
  rememberRefusedFields,
  type KnownRefusals,
  withoutFields,
  withoutWithin,
  type OptionalField,
  type OptionalFields,
} from './refused-fields.ts';
import { wholeOf } from './refused-within.ts';
import { passedOnHeaders, withoutLimits, type ReplyHeaders } from './reply-headers.ts';

export interface ChatBackend {
  /**
   * Resolves at the end of the answer. Throws ApiError, the reason of an aborted signal, or what
   * the listener throws.
   */
  ask(request: ChatBody, options: AskOptions, listener: AnswerListener): Promise<void>;
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
  /** Replaces that of the backend. */
  readonly firstByteTimeoutMs?: number;
  /** Is called with each body that is sent, while the backend begins to read it. */
  readonly sent?: (
    body: RequestBody,
    as: { readonly model: string; readonly leftOut: readonly OptionalField[] },
  ) => void;
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
  /** The backend refused these fields of the chat request. */
  readonly leftOut: readonly OptionalField[];
  /** The time in which the listener is busy does not count. */
  limitTotal(timeoutMs: number): void;
}

export interface RelayRequest {
  readonly model: string;
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

export interface AnswerTimeouts {
  /** From the sending of the request to the first chunk. */
  readonly firstByteTimeoutMs: number;
  /** Between two reads, while the listener is not busy. */
  readonly idleTimeoutMs: number;
}

export interface ChatBackendOptions extends PoolOptions, JudgeOptions, AnswerTimeouts {
  /** Includes `/v1`. A query (Azure's `api-version`) is kept. */
  readonly baseUrl: string;
  /** Whether a relayed stream may be asked for its usage. */
  readonly streamOptions: boolean;
  readonly hidesLimits?: boolean;
  /** Says which fields were left out, because the backend refuses them for this model. */
  readonly onRefusedFields?: (model: string, fields: readonly OptionalField[]) => void;
}

/** Answers are not decompressed, hence `identity`. */
const OWN_HEADERS = {
  'content-type': 'application/json',
  'accept-encoding': 'identity',
  'user-agent': 'responses-gateway',
} as const;

interface Sending {
  readonly body: (leftOut: readonly OptionalField[]) => RequestBody;
  /** The backend is asked again without those of them that it refuses. */
  readonly optional: OptionalFields;
  readonly asking: AskOptions;
  readonly headers: Readonly<Record<string, string>>;
}

interface Replied {
  readonly connection: BackendConnection;
  readonly replyHeaders: ReplyHeaders;
  /** Which nobody must find in the answer. */
  readonly secrets: readonly string[];
}

type Sent = Replied &
  (
    | { readonly kind: 'answered'; readonly leftOut: readonly OptionalField[] }
    | { readonly kind: 'refused'; readonly refusal: Refusal }
  );

/**
 * Returns the chat completions backend at `baseUrl`. A request is written again only if a field of it
 * was refused: a generation that runs twice is paid twice, so a broken connection is a failure.
 */
export function createChatBackend(
  options: ChatBackendOptions,
): ChatBackend & ChatRelay & Connected & { readonly refusals: KnownRefusals } {
  const { origin, path } = toEndpoint(options.baseUrl, 'chat/completions');
  const pool = openPool(origin, options);
  const refusedFields = rememberRefusedFields();

  async function ask(request: ChatBody, asking: AskOptions, listener: AnswerListener): Promise<void> {
    const { headers } = asking;
    const sent = await send({
      ...toSending(request),
      headers: { ...headers, ...OWN_HEADERS, accept: acceptOf(request.stream === true) },
      asking,
    });
    if (sent.kind === 'refused') throw toError(sent, sent.refusal.bytes.toString(), headers);
    const { connection, replyHeaders, leftOut } = sent;
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
      listener.begin({ headers: passedOnHeaders(replyHeaders), leftOut, limitTotal });
    }
  }

  async function relay(
    request: RelayRequest,
    asking: AskOptions,
    listener: RelayListener,
  ): Promise<RelayedRefusal | undefined> {
    const { model } = request;
    const canAskForUsage = request.canAskForUsage && options.streamOptions;
    const asksForUsage = (leftOut: readonly OptionalField[]): boolean =>
      canAskForUsage && !leftOut.includes('stream_options');
    const { headers } = asking;
    const sent = await send({
      body: (leftOut) => request.body(asksForUsage(leftOut)),
      optional: { model, ...(canAskForUsage && { stream_options: { include_usage: true } }) },
      headers: { ...OWN_HEADERS, accept: acceptOf(request.stream), ...headers },
      asking,
    });
    if (sent.kind === 'refused') {
      const { refusal, connection, replyHeaders } = sent;
      const { status } = connection;
      if (status < 400 || status >= 500) throw toError(sent, refusal.bytes.toString(), headers);
      return refusalForClient(refusal, { status, headers: replyHeaders, sentHeaders: headers }, options);
    }
    const { connection, replyHeaders, secrets, leftOut } = sent;
    const hidesUsage = asksForUsage(leftOut);
    const { 'content-length': _length, ...unsized } = replyHeaders;
    const answer = {
      status: connection.status,
      headers: hidesUsage ? unsized : replyHeaders,
      isEventStream: contentType(connection.headers) === 'text/event-stream',
    };
    await relayAnswer(
      connection,
      { ...answerOptions(sent, asking), hidesUsage, secrets },
      { begin: () => listener.begin(answer), take: (read) => listener.take(read) },
    );
    return undefined;
  }

  async function send(sending: Sending): Promise<Sent> {
    const { optional } = sending;
    const leftOut = refusedFields.of(optional);
    const named: OptionalField[] = [];
    let refusals = '';
    for (;;) {
      const sent = await attempt(sending, leftOut);
      if (sent.kind === 'answered') {
        // Only now is it known that the fields were the reason, and not a prompt about them.
        remember(optional, named, refusals);
        return sent;
      }
      const body = sent.refusal.bytes.toString();
      const refused = fieldsRefusedIn(sent.connection.status, body, optional).filter(
        (field) => !leftOut.includes(field),
      );
      if (refused.length === 0) return sent;
      leftOut.push(...refused);
      named.push(...refused);
      refusals += body;
    }
  }

  function remember(optional: OptionalFields, fields: readonly OptionalField[], refusals: string): void {
    const remembered = refusedFields.remember(optional, fields, refusals);
    if (remembered.length > 0) options.onRefusedFields?.(optional.model, remembered);
  }

  async function attempt(
    { body, optional: { model }, headers, asking }: Sending,
    leftOut: readonly OptionalField[],
  ): Promise<Sent> {
    const { signal, firstByteTimeoutMs = options.firstByteTimeoutMs } = asking;
    const written = body(leftOut);
    const opening = openConnection(pool, { path, headers, body: written, signal, firstByteTimeoutMs });
    asking.sent?.(written, { model, leftOut });
    const connection = await opening;
    const secrets = ownSecretsOf(headers, options);
    const replyHeaders = withoutSecrets(
      options.hidesLimits === true ? withoutLimits(connection.headers) : connection.headers,
      secrets,
    );
    if (connection.status >= 200 && connection.status < 300) {
      return { kind: 'answered', connection, replyHeaders, secrets, leftOut };
    }
    const refusal = await readRefusal(connection, signal);
    return { kind: 'refused', connection, replyHeaders, secrets, refusal };
  }

  function answerOptions(replied: Replied, { headers, signal }: AskOptions): AnswerOptions {
    const { idleTimeoutMs, onOperatorProblem, settings = ONLY_SETTINGS } = options;
    return { toError: (body) => toError(replied, body, headers), signal, idleTimeoutMs, onOperatorProblem, settings };
  }

  function toError({ connection, replyHeaders }: Replied, body: string, sentHeaders: AskOptions['headers']): ApiError {
    return judge({ status: connection.status, headers: replyHeaders, body, sentHeaders }, options).error;
  }

  return {
    ask,
    relay,
    refusals: refusedFields,
    connections() {
      const { connected, free } = pool.stats;
      return { busy: connected - free, idle: free };
    },
    close: () => pool.destroy(),
  };
}

/** What is inside of a large request is parsed only where a refusal is known or comes. */
function toSending(request: ChatBody): Pick<Sending, 'body' | 'optional'> {
  const within = lazily(() => wholeOf(request));
  return {
    body: (leftOut) => toBody(leftOut.some(isWithin) ? within() : request, leftOut),
    optional: { ...request, within },
  };
}

/** Returns the JSON of the request without these fields. */
export function toBody(request: ChatBody, leftOut: readonly OptionalField[]): RequestBody {
  if (!isEncoded(request)) return encodeJson(withoutFields(withoutWithin(request, leftOut), leftOut));
  const { bulk, ...fields } = request;
  return [encodeJson(withoutFields(fields, leftOut)).subarray(0, -1), bulk];
}

function acceptOf(stream: boolean): string {
  return stream ? 'text/event-stream' : 'application/json';
}
