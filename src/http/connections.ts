import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { devNull } from 'node:os';
import type { RequestHandler } from 'express';
import { ApiError } from '../core/errors.ts';
import type { StoreLog } from '../core/books/store.ts';
import { HEALTH_PATH } from './browser/hosts.ts';

/** The connections of clients, of which there are no more than the process may open beside its other files. */
export interface Connections extends ConnectionLimit {
  /** Counts the connections of a server, and closes those of idle clients when there are too many. */
  watch(server: Server): void;
  /** Whether replies should close their connections. */
  areScarce(): boolean;
}

export interface ConnectionLimit {
  readonly areFull: () => boolean;
}

/** For the store, its connections, threads and logs, and for the connections that are told that there are too many. */
const RESERVED_FILES = 80;
const TOLD = 16;
const SCARCE = 3 / 4;
const WARNED_EVERY_MS = 60_000;

/** Each connection of a client may need one to a backend. The limit of open files is read here if it is not given. */
export function createConnections(log: StoreLog, openFiles = readFileLimit()): Connections {
  const most = Math.max(TOLD, Math.floor((openFiles - RESERVED_FILES) / 2));
  let count = 0;
  let warnedAtMs = -Infinity;

  function warn(): void {
    if (performance.now() - warnedAtMs < WARNED_EVERY_MS) return;
    warnedAtMs = performance.now();
    log.warn({ connections: most, openFiles }, 'all connections are in use that the limit of open files allows');
  }

  return {
    watch(server) {
      if (most === Infinity) return;
      // A worker would give the connection back to the first process, which would offer it again at once.
      Object.assign(server, { maxConnections: most + TOLD, dropMaxConnection: true });
      server.on('drop', warn);
      server.on('connection', (socket) => {
        count += 1;
        socket.once('close', () => (count -= 1));
        if (count <= most) return;
        warn();
        server.closeIdleConnections();
      });
    },
    areScarce: () => count > most * SCARCE,
    areFull: () => count > most,
  };
}

/** Whether this process can open another file, and so another connection to a backend. */
export function canOpenFile(): boolean {
  try {
    closeSync(openSync(devNull, 'r'));
    return true;
  } catch {
    return false;
  }
}

/** Returns how many files this process may open; Infinity where the system does not say. */
function readFileLimit(): number {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(soft ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** Refuses requests while there are too many connections. Probes of health are answered. */
export function refuseWhenFull({ areFull }: ConnectionLimit): RequestHandler {
  return (req, _res, next) => {
    if (areFull() && !HEALTH_PATH.test(req.path)) {
      throw new ApiError('server_overloaded', {
        message: 'The gateway has no connection left for this request.',
        headers: { 'retry-after': '1' },
      });
    }
    next();
  };
}
