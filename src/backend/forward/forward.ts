/** Passes requests on as they come, by http-proxy-middleware: chat completions without a record, and other paths. */

import type { Agent, ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import type { Connected } from '../../core/chat.ts';
import { ApiError } from '../../core/errors.ts';
import { readJson } from '../../core/json.ts';
import { excessOf } from '../../core/json-size.ts';
import { lazily } from '../../core/lazily.ts';
import type { Refusal } from '../answer.ts';
import { contentType, isPlain } from '../answer-reader.ts';
import type { AskOptions, ChatBackendOptions, RelayedAnswer } from '../chat.ts';
import { connectionFailure, ownLack, proxyFailure, SWITCHED, type ConnectionPhase } from '../connection-failures.ts';
import { createOutbound } from '../outbound.ts';
import { createKeyFilter, ownSecretsOf, quotes, withoutSecrets } from '../own-key.ts';
import { isJson, judge, refusalForClient, type RelayedRefusal } from '../refusal.ts';
import { withoutLimits } from '../reply-headers.ts';
import { forwardedHeaders, type KeyOwner } from '../request-headers.ts';
import { createReuse, watchAgent } from '../reuse.ts';
import { openLimits, type Limits } from './limits.ts';

/** A request of a client, as its server has it. */
export interface Forwarding {
  readonly req: IncomingMessage;
  /** The listener writes to it. */
  readonly res: ServerResponse;
  /** Path and query below the base URL. */
  readonly path: string;
  /** Takes the place of the body of `req`, which has been read. */
  readonly body?: Buffer;
  /** Returns what is sent in the place of an answer, which is undefined if it is not JSON; undefined leaves it as it is. */
  readonly edit?: (status: number, answer: unknown) => object | undefined;
}

/** Gets one of the two, and sends the reply. */
export interface ForwardListener {
  /** The body comes at the pace of the client. */
  stream(answer: RelayedAnswer, body: Readable): void;
  /** An object is what was made of the answer. */
  whole(answer: RelayedAnswer, body: Buffer | object): void;
}

export interface Forward {
  /**
   * Resolves when the reply has been sent, or with a refusal that the client may see. Throws ApiError, or the
   * reason of an aborted signal.
   */
  forward(forwarding: Forwarding, asking: AskOptions, listener: ForwardListener): Promise<RelayedRefusal | undefined>;
}

export type ForwardOptions = Omit<ChatBackendOptions, 'streamOptions' | 'onRefusedFields'>;

/** Common servers close an idle connection after 5 s; a request must not be sent at that moment. */
const IDLE_SOCKET_MS = 4000;
/** A list of models can be long, an error need not be. */
const MAX_EDITED_BYTES = 8 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;

interface Run {
  readonly send: (sent: ClientRequest) => void;
  readonly take: (answer: IncomingMessage) => Promise<void>;
  readonly fail: (reason: unknown) => void;
}

/** Returns whether a request can be sent once more. A body that is streamed has been used up. */
export function canRepeat({ req, body }: Forwarding): boolean {
  return body !== undefined || (req.method === 'GET' && req.headers['content-length'] === undefined);
}

/** Opens what forwards to one backend. */
export function createForward(options: ForwardOptions): Forward & Connected & { readonly close: () => void } {
  const runs = new WeakMap<IncomingMessage, Run>();
  let agent: Agent | undefined;

  // Neither is loaded before it is needed: to import `node:http` takes a twentieth of the CPU of a start.
  const openProxy = lazily(async () => {
    const [{ Agent }, { createProxyMiddleware }] = await Promise.all([
      options.baseUrl.startsWith('https:') ? import('node:https') : import('node:http'),
      import('http-proxy-middleware'),
    ]);
    agent = new Agent({ keepAlive: true, timeout: IDLE_SOCKET_MS, maxFreeSockets: 256 });
    const { connect, relay } = createOutbound(new URL(options.baseUrl).origin, options);
    agent.createConnection = (_target, callback) => {
      connect((...opened) => {
        if (callback !== undefined) Reflect.apply(callback, undefined, opened);
      });
      return undefined;
    };
    const connections = watchAgent(agent, options.reuse ?? createReuse());
    return createProxyMiddleware({
      target: options.baseUrl,
      agent,
      selfHandleResponse: true,
      on: {
        proxyReq(sent, req) {
          if (relay !== undefined) {
            sent.path = relay.origin + sent.path;
            for (const [name, value] of Object.entries(relay.headers)) sent.setHeader(name, value);
          }
          runs.get(req)?.send(sent);
        },
        proxyRes(answer, req) {
          const run = runs.get(req);
          connections.answered(answer);
          run?.take(answer).catch(run.fail);
        },
        error: (error, req) => runs.get(req)?.fail(error),
      },
    });
  });

  return {
    async forward(forwarding, asking, listener) {
      const { req, res, path, body } = forwarding;
      const { idleTimeoutMs } = options;
      const { signal, headers, firstByteTimeoutMs = options.firstByteTimeoutMs } = asking;
      refuseBodyWithoutLength(req);
      // Where no file can be opened, nothing can be loaded.
      const proxy = await openProxy().catch((cause: unknown) => Promise.reject(ownLack(cause)));
      signal.throwIfAborted();
      const { promise, resolve, reject } = Promise.withResolvers<RelayedRefusal | undefined>();
      let sent: ClientRequest | undefined;
      let limits: Limits | undefined;
      const run: Run = {
        send(request) {
          // The client may have left since the library was asked.
          if (signal.aborted) return void request.destroy();
          sent = request;
          const timeouts = { firstByteTimeoutMs, idleTimeoutMs };
          limits = openLimits(request, { req, timeouts, fail: run.fail });
          request.once('upgrade', (_answer, socket) => {
            socket.destroy();
            run.fail(switched());
          });
          if (body !== undefined) request.write(body);
        },
        async take(answer) {
          limits?.answered(answer);
          // The library disconnects the client when a backend breaks off, but the client may yet be told of it.
          await Promise.resolve();
          answer.removeAllListeners('error').removeAllListeners('close').once('error', run.fail);
          const refusal = await passOn(answer, { forwarding, headers, listener }, options);
          if (refusal !== undefined) resolve(refusal);
        },
        fail: (reason) => reject(toFailure(reason, limits?.phase() ?? 'connecting')),
      };
      const leave = (): void => reject(signal.reason);
      const finish = (): void => resolve(undefined);
      signal.addEventListener('abort', leave);
      res.once('finish', finish);
      runs.set(req, run);
      req.headers = forwardedHeaders(req.headers, headers, body);
      req.url = path;
      const next = (reason?: unknown): void => run.fail(reason ?? new Error('the proxy passed the request by'));
      try {
        proxy(req, res, next).catch(run.fail);
        return await promise;
      } catch (thrown) {
        // How it ends must not be taken for the end of the next try.
        sent
          ?.removeAllListeners('error')
          .on('error', () => undefined)
          .destroy();
        throw thrown;
      } finally {
        signal.removeEventListener('abort', leave);
        res.off('finish', finish);
      }
    },
    connections: () => ({ busy: countSockets(agent?.sockets), idle: countSockets(agent?.freeSockets) }),
    close: () => agent?.destroy(),
  };
}

interface Passing {
  readonly forwarding: Forwarding;
  /** The backend was asked with them. */
  readonly headers: AskOptions['headers'];
  readonly listener: ForwardListener;
}

/** Gives the answer to the listener, or returns a refusal that the client may see. Throws ApiError for any other. */
async function passOn(
  answer: IncomingMessage,
  { forwarding: { req, path, edit }, headers: sentHeaders, listener }: Passing,
  options: ForwardOptions,
): Promise<RelayedRefusal | undefined> {
  const status = answer.statusCode ?? 0;
  // Node takes a 101 that names no protocol for a whole answer.
  if (status < 200) throw switched();
  if (status === 407) throw connectionFailure(proxyFailure(status), 'connecting');
  const secrets = ownSecretsOf(sentHeaders, options);
  const headers = withoutSecrets(
    options.hidesLimits === true ? withoutLimits(answer.headers) : answer.headers,
    secrets,
  );
  const head = { status, headers, isEventStream: contentType(headers) === 'text/event-stream' };
  const isRefused = isRefusal(answer, req.method, options.keyOwner);
  const mayQuoteKey = options.keyOwner === 'gateway' && status >= 400 && req.method !== 'HEAD';
  if (edit === undefined && !isRefused && !mayQuoteKey) {
    listener.stream(head, withoutKey(answer, secrets));
    return undefined;
  }
  const { bytes, isWhole } = await readWhole(answer, isRefused ? MAX_REFUSAL_BYTES : MAX_EDITED_BYTES);
  const edited = edit?.(status, excessOf(bytes) === undefined ? readJson(bytes.toString()) : undefined);
  if (edited === undefined && isRefused) {
    if (status === 404 && !path.startsWith('/chat/')) {
      throw new ApiError('not_found', { message: 'The backend does not have this path.' });
    }
    const refusal = isPlain(headers) ? { bytes, isWhole } : { bytes: Buffer.alloc(0), isWhole: false };
    return refusalForClient(refusal, { status, headers, sentHeaders }, options);
  }
  if (edited === undefined) {
    if (!isWhole || (mayQuoteKey && !isPlain(headers))) throw new ApiError('upstream_invalid_response');
    if (mayQuoteKey && quotes(bytes, secrets))
      throw judge({ status, headers, sentHeaders, body: bytes.toString() }, options).error;
  }
  listener.whole(head, edited ?? bytes);
  return undefined;
}

/** A failure may quote the key behind a status of 200, too. */
function withoutKey(answer: IncomingMessage, secrets: readonly string[]): Readable {
  const filter = createKeyFilter(secrets);
  if (filter === undefined) return answer;
  return answer.pipe(
    new Transform({
      transform: (piece: Buffer, _encoding, pass) => pass(null, filter.feed(piece)),
      flush: (pass) => pass(null, filter.end()),
    }),
  );
}

/** Any other answer goes to the client as it is, and says nothing of the backend. */
function isRefusal({ statusCode: status = 0, headers }: IncomingMessage, method = '', keyOwner: KeyOwner): boolean {
  if (status < 400) return status >= 300 && status !== 304;
  if (status === 429 || status >= 500) return true;
  if (keyOwner === 'gateway' && [401, 402, 403].includes(status)) return true;
  return !isJson(headers) && method !== 'HEAD';
}

function switched(): ApiError {
  return new ApiError('upstream_invalid_response', { message: SWITCHED });
}

function countSockets(byHost: Agent['sockets'] = {}): number {
  return Object.values(byHost).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
}

function toFailure(reason: unknown, phase: ConnectionPhase): Error {
  if (reason instanceof ApiError) return reason;
  return connectionFailure(reason instanceof Error ? reason : new Error('the proxy failed', { cause: reason }), phase);
}

/** Node frames a body without a length only for the methods that usually have one. */
function refuseBodyWithoutLength({ headers, method = '' }: IncomingMessage): void {
  if (headers['transfer-encoding'] === undefined || ['POST', 'PUT', 'PATCH'].includes(method)) return;
  throw new ApiError('invalid_request', { message: `A body of a ${method} must have a Content-Length.` });
}

/** Of a longer one the rest stays unread. */
function readWhole(answer: IncomingMessage, maxBytes: number): Promise<Refusal> {
  const { promise, resolve, reject } = Promise.withResolvers<Refusal>();
  const chunks: Buffer[] = [];
  let length = 0;
  const end = (isWhole: boolean): void => resolve({ bytes: Buffer.concat(chunks).subarray(0, maxBytes), isWhole });
  answer.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length <= maxBytes) return;
    answer.pause();
    end(false);
  });
  answer.once('end', () => end(true)).once('error', reject);
  return promise;
}
