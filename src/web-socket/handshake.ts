import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Request, RequestHandler } from 'express';
import { WebSocketServer } from 'ws';
import { ApiError } from '../core/errors.ts';
import { callerOf, type Credentials } from '../access/authenticate.ts';
import { baseUrlOf } from '../wire/base-url.ts';
import { refuseWhileDraining } from '../requests/running.ts';
import { endSwitched } from '../telemetry/observe.ts';
import { upgradeOf, type Upgrade } from '../wire/upgrade.ts';
import { createHistories } from './history.ts';
import { chooseProtocol } from '../access/key-protocol.ts';
import { ClosingWebSocket, openConnection, type ConnectionOptions } from './connection.ts';
import { cancelRequest, countUnread, serveFrame, type ServeFrameOptions } from './serve-frame.ts';
import type { Sockets } from './sockets.ts';

export interface WebSocketOptions
  extends Omit<ConnectionOptions, 'serveFrame' | 'countUnread' | 'cancel'>, ServeFrameOptions {
  readonly sockets: Sockets;
  readonly publicBaseUrl: string | null;
  readonly corsOrigins: readonly string[];
}

/** Returns the route of WebSockets; a request without an upgrade goes to the next route. */
export function openWebSocket(options: WebSocketOptions): RequestHandler {
  const { sockets, running, corsOrigins } = options;
  const histories = createHistories({ maxBytes: options.maxBodyBytes, shares: options.load.historyBytes });
  const server = createWebSocketServer(options.maxBodyBytes);

  return (req, res, next) => {
    const upgrade = upgradeOf(res);
    if (upgrade === undefined) {
      next();
      return;
    }
    refuseWhileDraining(running);
    const baseUrl = baseUrlOf(req, options.publicBaseUrl);
    checkOrigin(req.headers.origin, () => [...corsOrigins, new URL(baseUrl).origin], req.host);
    // A connection that broke while the key was looked up gives nothing back any more.
    if (upgrade.socket.destroyed) throw new ApiError('client_disconnected');
    const { holder } = callerOf(res);
    const share = options.load.webSockets.open(holder);
    share.take(1);
    upgrade.socket.once('close', () => share.release());
    const { ip, log } = req;
    const credentials: Credentials = { headers: pick(req.headers, CALLER_HEADERS), rawHeaders: [], ip };
    const traceHeaders = pick(req.headers, TRACE_HEADERS);
    shakeHands(server, req, res, upgrade, (ws) => {
      const history = histories.open(holder);
      const connection = openConnection(
        { ws, socket: upgrade.socket, holder, baseUrl, log, traceHeaders },
        {
          ...options,
          serveFrame: (frame, reply) => serveFrame(frame, reply, { credentials, history }, options),
          countUnread: (reason) => countUnread(reason, credentials, options),
          cancel: (requestId) => cancelRequest(requestId, credentials, options),
        },
      );
      sockets.add(connection);
      ws.once('close', () => {
        history.close();
        sockets.delete(connection);
      });
    });
  };
}

/** Without a preflight any page could open a WebSocket. A client without Origin is no browser. */
function checkOrigin(origin: string | undefined, origins: () => readonly string[], host: string): void {
  if (origin === undefined) return;
  const allowed = origins();
  if (allowed.includes('*') || allowed.includes(origin)) return;
  // A proxy may terminate TLS, so the scheme is not known.
  if (URL.parse(origin)?.host === host) return;
  throw new ApiError('forbidden', { message: 'Pages of this origin may not open a WebSocket here (CORS_ORIGINS).' });
}

/** Only what the authenticator needs is kept, since a connection may last long. */
const CALLER_HEADERS = ['authorization', 'openai-organization', 'openai-project'];
const TRACE_HEADERS = ['traceparent', 'tracestate'];

function pick(headers: IncomingHttpHeaders, names: readonly string[]): IncomingHttpHeaders {
  return Object.fromEntries(names.map((name) => [name, headers[name]]));
}

const LIMITS = { maxBufferedChunks: 65_536, maxFragments: 4096, closeTimeout: 2000 };

function createWebSocketServer(maxPayload: number) {
  return new WebSocketServer({
    ...LIMITS,
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload,
    handleProtocols: chooseProtocol,
    WebSocket: ClosingWebSocket,
  });
}

function shakeHands(
  server: ReturnType<typeof createWebSocketServer>,
  req: Request,
  res: ServerResponse,
  { socket, head }: Upgrade,
  onOpen: (ws: ClosingWebSocket) => void,
): void {
  let isRefused = false;
  const refuse = (): void => {
    isRefused = true;
  };
  const addHeaders = (headers: string[]): void => {
    for (const [name, value] of Object.entries(res.getHeaders())) headers.push(`${name}: ${String(value)}`);
  };
  server.once('wsClientError', refuse).once('headers', addHeaders);
  server.handleUpgrade(req, socket, head, (ws) => {
    res.detachSocket(socket);
    endSwitched(res);
    onOpen(ws);
  });
  server.off('wsClientError', refuse).off('headers', addHeaders);
  if (!isRefused) return;
  throw new ApiError('invalid_request', {
    message: 'This is not a valid WebSocket handshake (RFC 6455, version 13).',
    headers: { 'sec-websocket-version': '13' },
  });
}
