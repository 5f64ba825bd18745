import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { isIPv6 } from 'node:net';
import { ApiError, type ErrorCode } from '../core/errors.ts';
import type { RequestId } from '../core/ids.ts';

/** For the head of a request, and again for its body, which may be large and come over a slow line. */
const HEADERS_TIMEOUT_MS = 30_000;
const REQUEST_TIMEOUT_MS = 300_000;
/** Longer than the idle time of common load balancers, so that they close first and never send into a closed connection. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;
const MAX_HEADER_BYTES = 32 * 1024;

/** A server whose refusals of what is not even HTTP are JSON as well. */
export function createHttpServer(listener: RequestListener, newRequestId: () => RequestId): Server {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    listener,
  );
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    else socket.end(refusal(error.code, newRequestId()));
  });
  return server;
}

/** Returns where the server listens, without a slash at the end. Throws when it cannot. */
export async function listen(server: Server, place: { readonly host: string; readonly port: number }): Promise<string> {
  server.listen(place.port, place.host);
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : place.port;
  return `http://${isIPv6(place.host) ? `[${place.host}]` : place.host}:${port}`;
}

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

const REFUSALS: Readonly<Record<string, { status: string; code: ErrorCode; message: string }>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    code: 'payload_too_large',
    message: `The headers may have at most ${MAX_HEADER_BYTES} bytes.`,
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    code: 'invalid_request',
    message: 'The request took too long to arrive.',
  },
};

function refusal(reason: string | undefined, requestId: RequestId): string {
  const { status, code, message } = REFUSALS[reason ?? ''] ?? {
    status: '400 Bad Request',
    code: 'invalid_request' as const,
    message: 'This is not a valid HTTP request.',
  };
  const body = JSON.stringify(new ApiError(code, { message }).toBody());
  return [
    `HTTP/1.1 ${status}`,
    'Connection: close',
    `x-request-id: ${requestId}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}
