/** Opens sockets to a backend, straight or through a proxy, for undici and for the agents of Node. */

import { readFileSync } from 'node:fs';
import { Socket, type LookupFunction } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import type { buildConnector as Undici } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import { bareHostOf } from '../core/bare-host.ts';
import { mapValues } from '../core/map-values.ts';
import type { Egress, TlsFiles } from '../core/routes.ts';
import { proxyFailure } from './connection-failures.ts';
import { lookUp } from './lookup.ts';

/** Returns where a path relative to a base URL is. The query of the base URL stays, since Azure needs one. */
export function toEndpoint(baseUrl: string, path: string): { readonly origin: string; readonly path: string } {
  const { origin, pathname, search } = new URL(baseUrl);
  const url = new URL(path, `${origin}${pathname.replace(/\/+$/, '')}/`);
  return { origin, path: url.pathname + search };
}

export interface OutboundOptions extends Egress {
  readonly connectTimeoutMs: number;
  readonly lookup?: LookupFunction;
  /** Hears what only the operator can mend. */
  readonly onOperatorProblem?: (problem: string) => void;
}

export interface Relayed {
  /** A proxy gets requests for plain HTTP itself, so that it can see and keep what passes. */
  readonly relay: Relay | undefined;
}

export interface Outbound extends Relayed {
  /** Calls back with a socket on which a request for the backend can be written. */
  readonly connect: (callback: Undici.Callback) => void;
}

export interface Relay {
  /** Goes before the path (RFC 9112 section 3.2.2). */
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns what opens sockets to this origin. To connect, or to get a tunnel, takes at most `connectTimeoutMs` each. */
export function createOutbound(origin: string, options: OutboundOptions): Outbound {
  const { connectTimeoutMs: timeout, lookup = lookUp, proxy, tls } = options;
  const target = toTarget(origin);
  const plain = buildConnector({ timeout, lookup, allowH2: false });
  const secure = tls === undefined ? plain : followCertificates(tls, { timeout, lookup, allowH2: false });
  const connector: Undici.connector = (near, callback) =>
    secure(near, (...opened) => {
      if (tls?.cert === undefined) watchForWish(opened[1], options);
      callback(...opened);
    });
  if (proxy === undefined) return { connect: (callback) => connector(target, callback), relay: undefined };
  const toProxy: Undici.connector = (near, callback) =>
    plain(near, (...[error, socket]) =>
      error === null ? callback(null, socket) : callback(proxyFailure(error), null),
    );
  const headers = authorizationOf(proxy.url);
  if (target.protocol === 'http:')
    return {
      connect: (callback) => toProxy(toTarget(proxy.url), callback),
      relay: { origin, headers },
    };

  async function openTunnel(): Promise<Socket> {
    // Most gateways need no tunnel, and to load all of undici takes a sixth of the CPU of a start.
    const { Client } = await import('undici');
    const client = new Client(new URL(proxy?.url ?? '').origin, { connect: toProxy });
    const path = `${target.host.replace(/:\d+$/, '')}:${target.port || 443}`;
    try {
      const signal = AbortSignal.timeout(timeout);
      const { statusCode, socket } = await client.connect({ path, headers: { host: path, ...headers }, signal });
      if (statusCode >= 200 && statusCode < 300 && socket instanceof Socket) return socket;
      socket.on('error', () => undefined).destroy();
      throw proxyFailure(statusCode);
    } catch (error) {
      void client.destroy();
      throw error;
    }
  }

  async function connectByTunnel(callback: Undici.Callback): Promise<void> {
    const opened = await openTunnel().catch(proxyFailure);
    if (opened instanceof Error) callback(opened, null);
    else connector({ ...target, httpSocket: opened }, callback);
  }

  return { connect: (callback) => void connectByTunnel(callback), relay: undefined };
}

/** The files may change, such as certificates of an hour. While they do not fit together, those of before are used. */
function followCertificates(files: TlsFiles, options: Undici.BuildOptions): Undici.connector {
  let used = '';
  let connector: Undici.connector | undefined;
  return (target, callback) => {
    try {
      const texts = mapValues<string, string, string>({ ...files }, (path) => readFileSync(path, 'utf8'));
      const found = JSON.stringify(texts);
      if (found !== used) connector = buildConnector({ ...options, secureContext: createSecureContext(texts) });
      used = found;
    } catch (error) {
      if (connector === undefined) return callback(error instanceof Error ? error : new Error('unknown'), null);
    }
    return connector?.(target, callback);
  };
}

/** In TLS 1.3 a server learns that there is no certificate after the handshake, and often closes without a word. */
function watchForWish(socket: Socket | null, { onOperatorProblem }: OutboundOptions): void {
  // A client knows algorithms of the server only where that has asked for a certificate.
  if (!(socket instanceof TLSSocket) || socket.getSharedSigalgs().length === 0) return;
  socket.once('error', () => {
    onOperatorProblem?.(
      'The backend asked for a certificate of the client and then closed the connection: ' +
        'name one by tls.cert_file and tls.key_file in BACKENDS_FILE.',
    );
  });
}

/** Returns these parts of a backend alone. */
export function egressOf({ proxy, tls }: Egress): Egress {
  return { ...(proxy !== undefined && { proxy }), ...(tls !== undefined && { tls }) };
}

function toTarget(url: string): Undici.Options & { readonly host: string } {
  const { protocol, host, hostname, port } = new URL(url);
  return { protocol, host, hostname: bareHostOf({ hostname }), port };
}

function authorizationOf(url: string): Relay['headers'] {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return {};
  const pair = [username, password].map(decodeURIComponent).join(':');
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}
