import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { nodeHttp } from './node-http.ts';

export interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
}

const upgrades = new WeakMap<ServerResponse, Upgrade>();

/**
 * Returns a reply like any other until the upgrade is accepted. A refusal closes the connection,
 * since its bytes may be of the other protocol.
 */
export function openUpgradeReply(req: IncomingMessage, { socket, head }: Upgrade): ServerResponse {
  const res = new nodeHttp.ServerResponse(req);
  res.shouldKeepAlive = false;
  // Node has removed its own listener.
  socket.on('error', () => socket.destroy());
  res.assignSocket(socket);
  res.once('finish', () => {
    socket.end();
    socket.resume();
    closeSoon(socket);
  });
  upgrades.set(res, { socket, head });
  return res;
}

/** Returns the connection if the request asks for another protocol. */
export function upgradeOf(res: ServerResponse): Upgrade | undefined {
  return upgrades.get(res);
}

const REFUSED_MS = 2000;

/** Gives a refused client time to read why, and cuts off one that never closes its side. */
export function closeSoon(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), REFUSED_MS);
  socket.once('close', () => clearTimeout(timer));
}
