/** Opens sockets to a backend, straight or through a proxy, for undici and for the agents of Node. */

import { Socket, type LookupFunction } from 'node:net';
import type { buildConnector as Undici } from 'undici';
import buildConnector from 'undici/lib/core/connect.js';
import type { BackendSpec } from '../core/routes.ts';
import { proxyFailure } from './connection-failures.ts';
import { lookUp } from './lookup.ts';

/** What of a backend says how to reach it. */
export type Egress = Pick<BackendSpec, 'proxy'>;
export type Reachable = Egress & Pick<BackendSpec, 'baseUrl'>;

export interface OutboundOptions extends Egress {
  readonly connectTimeoutMs: number;
  readonly lookup?: LookupFunction;
}

export interface Outbound {
  /** Calls back with a socket on which a request for the backend can be written. */
  readonly connect: (callback: Undici.Callback) => void;
  /** A proxy gets requests for plain HTTP itself, so that it can see and keep what passes. */
  readonly relay: Relay | undefined;
}

export interface Relay {
  /** Goes before the path (RFC 9112 section 3.2.2). */
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns what opens sockets to this origin. To connect, or to get a tunnel, takes at most `connectTimeoutMs` each. */
export function createOutbound(origin: string, options: OutboundOptions): Outbound {
  const { connectTimeoutMs: timeout, lookup = lookUp, proxy } = options;
  const target = toTarget(origin);
  const connector = buildConnector({ timeout, lookup, allowH2: false });
  if (proxy === undefined) return { connect: (callback) => connector(target, callback), relay: undefined };
  const toProxy: Undici.connector = (near, callback) =>
    connector(near, (...[error, socket]) =>
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

/** Returns these parts of a backend alone. */
export function egressOf({ proxy }: Egress): Egress {
  return { ...(proxy !== undefined && { proxy }) };
}

function toTarget(url: string): Undici.Options & { readonly host: string } {
  const { protocol, host, hostname, port } = new URL(url);
  return { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port };
}

function authorizationOf(url: string): Relay['headers'] {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return {};
  const pair = [username, password].map(decodeURIComponent).join(':');
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}
