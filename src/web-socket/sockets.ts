import type { IncomingMessage } from 'node:http';
import type { Connection } from './connection.ts';

export interface Sockets {
  readonly count: number;
  /** Returns whether this asks for a WebSocket on its path; any other upgrade is ignored. */
  takes(req: IncomingMessage): boolean;
  add(connection: Connection): void;
  delete(connection: Connection): void;
  leave(): void;
  close(): Promise<void>;
}

/** Complete answers and closing frames reach the clients within this time. */
const CLOSE_MS = 1000;

export function createSockets(): Sockets {
  const connections = new Set<Connection>();
  let waiting: (() => void)[] = [];

  const sockets: Sockets = {
    get count() {
      return connections.size;
    },
    takes: isHandshake,
    add: (connection) => void connections.add(connection),
    delete(connection) {
      connections.delete(connection);
      if (connections.size > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
    leave() {
      for (const connection of connections) connection.leave();
    },
    async close() {
      if (connections.size === 0) return;
      const closed = new Promise<void>((resolve) => waiting.push(resolve));
      sockets.leave();
      const late = setTimeout(() => {
        for (const connection of connections) connection.terminate();
      }, CLOSE_MS);
      await closed;
      clearTimeout(late);
    },
  };
  return sockets;
}

function isHandshake({ method, url = '', headers }: IncomingMessage): boolean {
  const wantsIt = method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
  return wantsIt && /^(?:https?:\/\/[^/]*)?(?:\/api)?\/v1\/responses\/?(?:\?|$)/i.test(url);
}
