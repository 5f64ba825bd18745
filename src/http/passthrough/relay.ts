import type { Agent as HttpAgent, ClientRequest, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { NextFunction, Request, Response } from 'express';
import type { ChatBackendOptions } from '../../backend/chat.ts';
import { connectionFailure, SWITCHED, type ConnectionPhase } from '../../backend/connection-failures.ts';
import { failureOf } from '../../backend/failures.ts';
import { lookUp } from '../../backend/lookup.ts';
import { withoutLimits, type ReplyHeaders } from '../../backend/reply-headers.ts';
import { createReuse, watchAgent } from '../../backend/reuse.ts';
import type { Connected } from '../../core/chat.ts';
import { ApiError } from '../../core/errors.ts';
import { readJson } from '../../core/json.ts';
import { excessOf } from '../../core/json-size.ts';
import { lazily } from '../../core/lazily.ts';
import { watchPace } from '../../wire/pace.ts';
import { closeWhenStalled, countUnreadReply } from '../../access/stalled-client.ts';
import { nodeHttp } from '../../wire/node-http.ts';
import { towardsBackend, towardsClient } from './relay-headers.ts';
import { factsOf } from '../../telemetry/reply-facts.ts';
import { noteBackendCall } from '../../requests/facts.ts';

export interface ProxyOptions extends Pick<
  ChatBackendOptions,
  | 'baseUrl'
  | 'keyOwner'
  | 'connectTimeoutMs'
  | 'firstByteTimeoutMs'
  | 'idleTimeoutMs'
  | 'hidesLimits'
  | 'reuse'
  | 'settings'
> {
  readonly onOperatorProblem: (problem: string) => void;
}

export interface Forwarding {
  readonly path: string;
  readonly backendHeaders: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Is called when the backend answers with a 2xx status. */
  readonly noteAccepted?: () => void;
  /** The result is sent with status 200; undefined leaves the answer as it is. */
  readonly edit?: (status: number, answer: unknown) => object | undefined;
}

export interface Proxy extends Connected {
  /** Resolves when the reply has been sent. Throws ApiError if nothing has been sent yet. */
  forward(req: Request, res: Response, forwarding: Forwarding): Promise<void>;
  close(): void;
}

/** Common servers close an idle connection after 5 s; a request must not be sent at that moment. */
const IDLE_SOCKET_MS = 4000;
/** A list of models can be long, an error need not be. */
const MAX_EDITED_BYTES = 8 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

interface Running extends Forwarding {
  phase: ConnectionPhase;
  readonly fail: (reason: unknown) => void;
}

/** Creates a proxy to one backend. Bytes go through at the pace of the slower side. */
export function createProxy(options: ProxyOptions): Proxy {
  const Agent = new URL(options.baseUrl).protocol === 'https:' ? HttpsAgent : nodeHttp.Agent;
  const agent = new Agent({ keepAlive: true, timeout: IDLE_SOCKET_MS, maxFreeSockets: 256, lookup: lookUp });
  const connections = watchAgent(agent, options.reuse ?? createReuse());
  const forwardings = new WeakMap<IncomingMessage, Running>();

  const openProxy = lazily(async () => {
    const { createProxyMiddleware } = await import('http-proxy-middleware');
    return createProxyMiddleware<Request, Response>({
      target: options.baseUrl,
      agent,
      selfHandleResponse: true,
      on: {
        proxyReq(proxyReq, req, res) {
          const forwarding = forwardings.get(req);
          if (forwarding === undefined) return;
          watch(proxyReq, { req, res }, forwarding, options);
          watchPace(req, () => proxyReq.destroy(new ApiError('request_timeout')));
          if (forwarding.body !== undefined) proxyReq.write(forwarding.body);
        },
        proxyRes(proxyRes, req, res) {
          const forwarding = forwardings.get(req);
          if (forwarding === undefined) return;
          forwarding.phase = 'answering';
          connections.answered(proxyRes);
          const headers = options.hidesLimits === true ? withoutLimits(proxyRes.headers) : proxyRes.headers;
          relay(proxyRes, { req, res, forwarding, options, headers }).catch(forwarding.fail);
        },
        error: (error, req) => forwardings.get(req)?.fail(error),
      },
    });
  });

  return {
    async forward(req, res, forwarding) {
      const proxy = await openProxy();
      await new Promise<void>((resolve, reject) => {
        const fail = (reason: unknown): void => reject(toFailure(reason, running.phase));
        const running: Running = { ...forwarding, phase: 'connecting', fail };
        forwardings.set(req, running);
        res.once('close', () => resolve());
        refuseBodyWithoutLength(req);
        req.headers = { ...towardsBackend(req.headers, forwarding), ...noteBackendCall(factsOf(res)) };
        req.url = forwarding.path;
        const next: NextFunction = (reason?: unknown) => fail(reason ?? new Error('the proxy passed the request by'));
        proxy(req, res, next).catch(fail);
      });
    },
    connections: () => ({ busy: countSockets(agent.sockets), idle: countSockets(agent.freeSockets) }),
    close: () => agent.destroy(),
  };
}

function countSockets(byHost: HttpAgent['sockets']): number {
  return Object.values(byHost).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
}

function toFailure(reason: unknown, phase: ConnectionPhase): Error {
  if (reason instanceof ApiError) return reason;
  return connectionFailure(reason instanceof Error ? reason : new Error('the proxy failed', { cause: reason }), phase);
}

/** Node frames a body without a length only for the methods that usually have one. */
function refuseBodyWithoutLength(req: Request): void {
  if (req.headers['transfer-encoding'] === undefined || ['POST', 'PUT', 'PATCH'].includes(req.method)) return;
  throw new ApiError('invalid_request', { message: `A body of a ${req.method} must have a Content-Length.` });
}

function watch(
  proxyReq: ClientRequest,
  { req, res }: Pick<Relayed, 'req' | 'res'>,
  forwarding: Running,
  options: ProxyOptions,
): void {
  const { socket } = proxyReq;
  const limit = (ms: number, phase: ConnectionPhase, message: string): NodeJS.Timeout => {
    const giveUp = (): void => {
      if (forwarding.phase === phase) proxyReq.destroy(new ApiError('upstream_timeout', { message }));
    };
    // The process may have stood still, and not the backend, so what has arrived is read first.
    const timer = setTimeout(() => setImmediate(giveUp), ms);
    proxyReq.once('close', () => clearTimeout(timer));
    return timer;
  };
  const waitForAnswer = (): void => {
    forwarding.phase = 'waiting';
    // A limit of the socket would start again with each byte, and a `102 Processing` is no answer.
    const timer = limit(options.firstByteTimeoutMs, 'waiting', 'The backend did not answer in time.');
    req.on('data', () => timer.refresh());
  };
  if (socket?.connecting === true) {
    limit(options.connectTimeoutMs, 'connecting', 'The backend did not accept a connection in time.');
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', waitForAnswer);
  } else if (socket?.writable !== false) {
    // One that has just been closed cannot send anything.
    waitForAnswer();
  }
  proxyReq.setTimeout(0);
  proxyReq.on('timeout', () => {
    // That of the agent for idle sockets also ends while a connection is being made.
    if (forwarding.phase !== 'answering') return;
    // The client holds it up, and has a limit of its own.
    if (res.writableNeedDrain) return void proxyReq.setTimeout(options.idleTimeoutMs);
    const bytesRead = proxyReq.socket?.bytesRead;
    setImmediate(() => {
      if (proxyReq.socket?.bytesRead === bytesRead) {
        proxyReq.destroy(
          new ApiError('upstream_timeout', { message: 'The backend went silent in the middle of its answer.' }),
        );
      }
    });
  });
  proxyReq.once('upgrade', (_answer, upgraded) => {
    upgraded.destroy();
    forwarding.fail(new ApiError('upstream_invalid_response', { message: SWITCHED }));
  });
}

interface Relayed {
  readonly req: Request;
  readonly res: Response;
  readonly forwarding: Running;
  readonly options: ProxyOptions;
  readonly headers: ReplyHeaders;
}

async function relay(proxyRes: IncomingMessage & { req?: ClientRequest }, relayed: Relayed): Promise<void> {
  const { res, forwarding, options } = relayed;
  const status = proxyRes.statusCode ?? 0;
  // Node takes a 101 that names no protocol for a whole answer.
  if (status < 200) throw new ApiError('upstream_invalid_response', { message: SWITCHED });
  const isFault = mayBeFault(proxyRes, relayed);
  noteAnswer(proxyRes, relayed);
  proxyRes.req?.setTimeout(options.idleTimeoutMs);
  if (forwarding.edit === undefined && !isFault) {
    res.writeHead(status, towardsClient(relayed.headers, options.keyOwner));
    // The client learns at once that the backend has answered, even if the first event takes long.
    res.flushHeaders();
    closeWhenStalled(res, options.idleTimeoutMs);
    proxyRes.pipe(res);
    return;
  }

  const bytes = await readAnswer(proxyRes, isFault ? MAX_ERROR_BYTES : MAX_EDITED_BYTES);
  const answer = excessOf(bytes) === undefined ? readJson(bytes.toString()) : undefined;
  const edited = forwarding.edit?.(status, answer);
  const { 'content-length': _length, ...headers } = towardsClient(relayed.headers, options.keyOwner);
  if (edited !== undefined) {
    for (const name of ['content-type', 'content-encoding', 'etag', 'last-modified']) delete headers[name];
    res.status(200).set(headers).json(edited);
    countUnreadReply(res);
    return;
  }
  if (isFault) throwFault(proxyRes, bytes, relayed);
  res.writeHead(status, { ...headers, 'content-length': bytes.length }).end(bytes);
  countUnreadReply(res);
}

function noteAnswer(proxyRes: IncomingMessage, { res, forwarding }: Relayed): void {
  const facts = factsOf(res);
  const status = proxyRes.statusCode ?? 0;
  if (status >= 200 && status < 300) {
    facts.backend = 'answered';
    forwarding.noteAccepted?.();
  }
  facts.stream = /^text\/event-stream\b/i.test(proxyRes.headers['content-type'] ?? '');
  // The reader is attached in the same turn, so this listener loses nothing.
  proxyRes.once('data', () => (facts.firstOutputAtMs = performance.now()));
}

function mayBeFault(proxyRes: IncomingMessage, { req, options }: Relayed): boolean {
  const status = proxyRes.statusCode ?? 0;
  if (status >= 300 && status < 400) return status !== 304;
  if (options.keyOwner === 'gateway' && [401, 402, 403, 429].includes(status)) return true;
  return status >= 400 && !isJson(proxyRes) && req.method !== 'HEAD';
}

function throwFault(proxyRes: IncomingMessage, bytes: Buffer, { forwarding, options, headers }: Relayed): void {
  const status = proxyRes.statusCode ?? 0;
  if (status === 404 && !isJson(proxyRes) && !forwarding.path.startsWith('/chat/')) {
    throw new ApiError('not_found', { message: 'The backend does not have this path.' });
  }
  const { error, operatorProblem } = failureOf({
    status,
    headers,
    body: proxyRes.headers['content-encoding'] === undefined ? bytes.toString() : '',
    keyOwner: options.keyOwner,
    secrets: Object.values(forwarding.backendHeaders).map((value) => value.replace(/^Bearer /, '')),
    ...(options.settings !== undefined && { settings: options.settings }),
  });
  if (operatorProblem !== undefined) options.onOperatorProblem(operatorProblem);
  if (operatorProblem !== undefined || !isJson(proxyRes)) throw error;
}

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/(?:[^\s/;]+\+)?json\b/i.test(headers['content-type'] ?? '');
}

/** The rest stays unread, and its connection is closed after the reply. */
function readAnswer(proxyRes: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const done = (): void => {
      proxyRes.pause();
      resolve(Buffer.concat(chunks).subarray(0, maxBytes));
    };
    proxyRes.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxBytes) done();
    });
    proxyRes.once('end', done);
    proxyRes.once('error', reject);
  });
}
