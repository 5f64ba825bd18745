import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { isIPv6, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, type ErrorCode, codeOf } from '../core/errors.ts';
import { spreadOverIterations } from '../wire/event-loop.ts';
import type { RequestId } from '../contract/ids.ts';
import { closeSoon, openUpgradeReply } from '../wire/upgrade.ts';
import { closeIfUnread } from '../access/stalled-client.ts';
import { hostNameOf } from '../wire/host-name.ts';
import { API_HEADERS } from '../wire/security-headers.ts';
import type { ServerClasses } from './express-prototypes.ts';
import { nodeHttp } from '../wire/node-http.ts';

const HEADERS_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 300_000;
/** What clients are told. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/** Load balancers must close first, so that they never send into a closed connection. Those of Google wait 600 s, Caddy 120. */
const KEEP_ALIVE_BUFFER_MS = 550_000;
const MAX_HEADER_BYTES = 32 * 1024;
/** Below Node's own limit, above which it drops headers silently. */
const MAX_HEADERS = 200;
/** Each takes some tenths of a millisecond, and a request that runs needs several turns until its answer. */
const MOST_PER_ITERATION = 16;
/** Of those that are the first of their connection, since nobody knows how many more come. */
const FIRST_PER_ITERATION = 4;
/** Of one connection: with 50 bytes each, a client that pipelines would fill the memory. */
const MOST_WAITING = 128;

export interface HttpServerOptions {
  readonly upgrades?: (req: IncomingMessage) => boolean;
  readonly classes?: ServerClasses;
  /** While it is true, each reply closes its connection. */
  readonly isLeaving?: () => boolean;
  /** How long a client may read nothing of a reply that has ended. */
  readonly stallMs: number;
}

/** Creates a server that refuses with JSON what never reaches the application. */
export function createHttpServer(
  listener: RequestListener,
  newRequestId: () => RequestId,
  { upgrades = () => false, classes, isLeaving = () => false, stallMs }: HttpServerOptions,
): Server {
  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    // A pool of connections must not send another request here.
    if (isLeaving()) res.shouldKeepAlive = false;
    closeIfUnread(res, stallMs);
    if (req.rawHeaders.length > 2 * MAX_HEADERS) {
      refuseInOrder(res, TOO_MANY_HEADERS);
      return;
    }
    const target = originForm(req.url ?? '');
    if (target === undefined || !hasValidHost(req)) {
      refuseInOrder(res, INVALID);
      return;
    }
    req.url = target;
    listener(req, res);
  };
  const waitingOn = new WeakMap<Socket, number>();
  /** The last one of each connection. Those before it have ended once it has a socket. */
  const lastOn = new WeakMap<Duplex, ServerResponse>();
  /** Whether a request of this connection is not answered yet. */
  const isBusy = (socket: Duplex): boolean => lastOn.get(socket)?.closed === false;
  const isReplying = (socket: Duplex): boolean => {
    const last = lastOn.get(socket);
    return last?.closed === false && (last.socket === null || last.headersSent);
  };
  // The socket of an upgrade has no room for the replies before it, so one behind them is a request like any other.
  const isUpgrade = (req: IncomingMessage): boolean => !isBusy(req.socket) && upgrades(req);
  const [beginFirst, beginLater] = [
    spreadOverIterations(FIRST_PER_ITERATION),
    spreadOverIterations(MOST_PER_ITERATION),
  ];
  const serveInOrder = (req: IncomingMessage, res: ServerResponse): void => {
    const { socket } = req;
    lastOn.set(socket, res);
    const waiting = waitingOn.get(socket);
    // Whoever pipelines has to expect it (RFC 9112, section 9.3.2).
    if (waiting === MOST_WAITING) socket.destroy();
    if (socket.destroyed || socket.writableEnded) return;
    waitingOn.set(socket, (waiting ?? 0) + 1);
    const begin = waiting === undefined ? beginFirst : beginLater;
    begin(req.headers.authorization ?? socket.remoteAddress ?? '', () => {
      waitingOn.set(socket, (waitingOn.get(socket) ?? 0) - 1);
      if (!socket.destroyed) serve(req, res);
    });
  };
  const server = nodeHttp.createServer(
    {
      ...classes,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      keepAliveTimeoutBuffer: KEEP_ALIVE_BUFFER_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Node would refuse it without a body.
      requireHostHeader: false,
      shouldUpgradeCallback: isUpgrade,
    },
    serveInOrder,
  );
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    closeInStages(socket, () => lastOn.get(socket)?.req);
  });
  // Node's own, which it also calls when it closes a server, counts a client as idle that still reads a reply which has ended.
  server.closeIdleConnections = () => {
    for (const socket of sockets) if (isIdle(socket)) socket.destroy();
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    else refuse(socket, REFUSALS[error.code ?? ''] ?? INVALID);
  });
  server.on('checkExpectation', (req, res) => {
    lastOn.set(req.socket, res);
    refuseInOrder(res, UNKNOWN_EXPECTATION);
  });
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, NO_TUNNEL);
  });
  server.on('upgrade', (req, socket, head) => {
    // Node before 22.21 ignores `shouldUpgradeCallback`.
    if (socket instanceof Socket && isUpgrade(req)) serveInOrder(req, openUpgradeReply(req, { socket, head }));
    else socket.destroy();
  });
  return server;

  /** Answers after the replies to earlier requests on this connection. */
  function refuseInOrder(res: ServerResponse, reason: Refusal): void {
    const { headers, body } = refusal(reason, newRequestId());
    res.writeHead(reason.status, reason.phrase, headers).end(body);
  }

  function refuse(socket: Duplex, reason: Refusal): void {
    // In the middle of a reply it would be read as a part of that.
    if (isReplying(socket)) return void socket.destroy();
    const { headers, body } = refusal(reason, newRequestId());
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${reason.status} ${reason.phrase}\r\n${lines.join('')}\r\n${body}`);
    closeSoon(socket);
  }
}

/**
 * Lets a client that still sends its body read the reply before its connection closes. Closed at once, it would be reset, and the reply
 * would be lost (RFC 9112, section 9.6).
 */
function closeInStages(socket: Socket, requestNow: () => IncomingMessage | undefined): void {
  const closeNow = socket.destroySoon.bind(socket);
  // Node calls it after a reply that is the last one of its connection.
  socket.destroySoon = () => {
    const req = requestNow();
    if (req === undefined || req.complete || req.destroyed) return closeNow();
    socket.end();
    closeSoon(socket);
    req.once('end', closeNow);
  };
}

/** Node limits the time of a connection between two requests alone, once all of the reply is written. */
function isIdle({ timeout = 0 }: Socket): boolean {
  return timeout > 0;
}

/** HTTP/1.1 needs exactly one (RFC 9112, section 3.2); Node takes the first of several. */
function hasValidHost({ rawHeaders, headers: { host }, httpVersion }: IncomingMessage): boolean {
  if (host === undefined) return httpVersion !== '1.1';
  const isHost = (text: string, at: number): boolean =>
    at % 2 === 0 && text.length === 4 && text.toLowerCase() === 'host';
  return hostNameOf(host) !== undefined && rawHeaders.filter(isHost).length === 1;
}

/**
 * A client that takes the gateway for a proxy sends a whole URL. Express would answer one that
 * cannot be parsed in HTML.
 */
function originForm(target: string): string | undefined {
  if (target.startsWith('/') || target === '*') return target;
  const url = URL.parse(target);
  return url === null ? undefined : url.pathname + url.search;
}

/** Returns the URL without a trailing slash. Throws with one line for the operator. */
export async function listen(
  server: Server,
  endpoint: { readonly host: string; readonly port: number },
): Promise<string> {
  const host = isIPv6(endpoint.host) ? `[${endpoint.host}]` : endpoint.host;
  server.listen(endpoint.port, endpoint.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = codeOf(error) || 'unknown';
    throw new Error(`Cannot listen on ${host}:${endpoint.port}${WHY_NOT_LISTENING[code] ?? ''} (${code}).`, {
      cause: error,
    });
  }
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : endpoint.port;
  return `http://${host}:${port}`;
}

const WHY_NOT_LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: ': another program uses this port; stop it, or set PORT',
  EACCES: ': this user may not; choose a port above 1023',
  EADDRNOTAVAIL: ': this machine has no such address',
  ENOTFOUND: ': this name has no address',
};

const FLUSH_MS = 1000;

/** Accepts no new connection, lets replies arrive, and closes the rest. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const flush = setTimeout(() => server.closeAllConnections(), FLUSH_MS);
  await closed;
  clearTimeout(flush);
}

interface Refusal {
  readonly status: number;
  readonly phrase: string;
  readonly code: ErrorCode;
  readonly message: string;
}

const INVALID: Refusal = {
  status: 400,
  phrase: 'Bad Request',
  code: 'invalid_request',
  message: 'This is not a valid HTTP request.',
};
const TOO_MANY_HEADERS: Refusal = {
  status: 431,
  phrase: 'Request Header Fields Too Large',
  code: 'payload_too_large',
  message: `There may be at most ${MAX_HEADERS} headers.`,
};
const UNKNOWN_EXPECTATION: Refusal = {
  status: 417,
  phrase: 'Expectation Failed',
  code: 'invalid_request',
  message: 'The only expectation that can be met is "Expect: 100-continue".',
};
const NO_TUNNEL: Refusal = {
  status: 405,
  phrase: 'Method Not Allowed',
  code: 'method_not_allowed',
  message: 'CONNECT is not allowed; this is not a proxy.',
};
const REFUSALS: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    phrase: 'Request Header Fields Too Large',
    code: 'payload_too_large',
    message: `The headers may have at most ${MAX_HEADER_BYTES} bytes.`,
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    phrase: 'Request Timeout',
    code: 'request_timeout',
    message: 'The request took too long to arrive.',
  },
};

function refusal(
  { code, message }: Refusal,
  requestId: RequestId,
): { readonly headers: Readonly<Record<string, string | number>>; readonly body: string } {
  const body = JSON.stringify(new ApiError(code, { message }).toBody());
  const headers = {
    ...API_HEADERS,
    connection: 'close',
    'x-request-id': requestId,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  };
  return { headers, body };
}
