import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { isIPv6, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, type ErrorCode } from '../core/errors.ts';
import type { RequestId } from '../contract/ids.ts';
import { closeSoon, openUpgradeReply } from './upgrade.ts';
import { API_HEADERS } from './access/security-headers.ts';
import type { ServerClasses } from './express-prototypes.ts';

/** For the head of a request, and again for its body, which may be large and come over a slow line. */
const HEADERS_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 300_000;
/** Longer than the idle time of common load balancers, so that they close first and never send into a closed connection. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
const MAX_HEADER_BYTES = 32 * 1024;
/** Below Node's own limit, beyond which it leaves headers out and nobody knows that they were there. */
const MAX_HEADERS = 200;

export interface HttpServerOptions {
  /** 0 sets no limit. */
  readonly maxRequestsPerSocket?: number;
  /** Which requests may go on with another protocol; the upgrade of any other is ignored. */
  readonly upgrades?: (req: IncomingMessage) => boolean;
  /** The classes of requests and replies. */
  readonly classes?: Partial<ServerClasses>;
}

/** A server whose refusals of what is not even HTTP, or not for an application, are JSON as well. */
export function createHttpServer(
  listener: RequestListener,
  newRequestId: () => RequestId,
  { maxRequestsPerSocket = 0, upgrades = () => false, classes = {} }: HttpServerOptions = {},
): Server {
  const serve = (req: IncomingMessage, res: ServerResponse): void => {
    if (req.rawHeaders.length > 2 * MAX_HEADERS) {
      refuseInTurn(res, TOO_MANY_HEADERS);
      return;
    }
    const target = originForm(req.url ?? '');
    if (target === undefined || (req.headers.host === undefined && req.httpVersion === '1.1')) {
      refuseInTurn(res, INVALID);
      return;
    }
    req.url = target;
    listener(req, res);
  };
  const server = createServer(
    {
      ...classes,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Node's own refusal has no body.
      requireHostHeader: false,
      shouldUpgradeCallback: upgrades,
    },
    serve,
  );
  server.maxRequestsPerSocket = maxRequestsPerSocket;
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    else refuse(socket, REFUSALS[error.code ?? ''] ?? INVALID);
  });
  server.on('checkExpectation', (_req, res) => refuseInTurn(res, UNKNOWN_EXPECTATION));
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, NO_TUNNEL);
  });
  server.on('upgrade', (req, socket, head) => {
    // Node before 22.21 asks nobody which upgrade is wanted, and has given up reading the request by here.
    if (socket instanceof Socket && upgrades(req)) serve(req, openUpgradeReply(req, { socket, head }));
    else socket.destroy();
  });
  return server;

  /** Behind the replies to what came before it on this connection. */
  function refuseInTurn(res: ServerResponse, reason: Refusal): void {
    const { headers, body } = refusal(reason, newRequestId());
    res.writeHead(reason.status, reason.phrase, headers).end(body);
  }

  function refuse(socket: Duplex, reason: Refusal): void {
    const { headers, body } = refusal(reason, newRequestId());
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${reason.status} ${reason.phrase}\r\n${lines.join('')}\r\n${body}`);
    closeSoon(socket);
  }
}

/**
 * The path and the query of a request. A client that takes us for a proxy names the host before them, and Express answers
 * in HTML when it cannot read that; then this is undefined.
 */
function originForm(target: string): string | undefined {
  if (target.startsWith('/') || target === '*') return target;
  const url = URL.parse(target);
  return url === null ? undefined : url.pathname + url.search;
}

/** Returns where the server listens, without a slash at the end. Throws with one line for the operator when it cannot. */
export async function listen(server: Server, place: { readonly host: string; readonly port: number }): Promise<string> {
  const host = isIPv6(place.host) ? `[${place.host}]` : place.host;
  server.listen(place.port, place.host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new Error(`Cannot listen on ${host}:${place.port}${WHY_NOT_LISTENING[code] ?? ''} (${code}).`, {
      cause: error,
    });
  }
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : place.port;
  return `http://${host}:${port}`;
}

const WHY_NOT_LISTENING: Readonly<Record<string, string>> = {
  EADDRINUSE: ': another program does; stop that, or choose another port',
  EACCES: ': this user may not; choose a port above 1023',
  EADDRNOTAVAIL: ': this machine has no such address',
  ENOTFOUND: ': this name has no address',
};

/** How long replies that are complete may take to reach their clients. */
const FLUSH_MS = 1000;

/** Takes no new connection, lets replies that are on their way arrive, and breaks what is left. */
export async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
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
    code: 'invalid_request',
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
