import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The connection of a request that asks to go on with another protocol, and what of that has come already. */
export interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
}

const upgrades = new WeakMap<ServerResponse, Upgrade>();

/**
 * The reply to such a request. Until the change is granted it is a reply like any other, so that a refusal says what it says
 * elsewhere; then the connection closes, since nothing else can be read from it.
 */
export function openUpgradeReply(req: IncomingMessage, { socket, head }: Upgrade): ServerResponse {
  const res = new ServerResponse(req);
  res.shouldKeepAlive = false;
  // Node has taken its own listener away.
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

/** The connection, where the request that this replies to asks for another protocol. */
export function upgradeOf(res: ServerResponse): Upgrade | undefined {
  return upgrades.get(res);
}

const REFUSED_MS = 2000;

/** Gives a client that was refused time to read why. One that never closes its side is cut off then. */
export function closeSoon(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), REFUSED_MS);
  socket.once('close', () => clearTimeout(timer));
}
