import type { RequestHandler } from 'express';
import type { Backends, BackendState } from '../backend/backends.ts';
import type { Identity } from '../core/ids.ts';
import type { Store, StoreLog } from '../core/books/store.ts';
import type { Health, Readiness } from '../contract/operator-types.ts';
import { canOpenFile, type ConnectionLimit } from './connections.ts';
import type { RunningRequests } from '../requests/running.ts';

/** Ignores the backend, since a restart would not repair that. */
export const showHealth: RequestHandler = (_req, res) => {
  res.set('cache-control', 'no-store').json({ status: 'ok' } satisfies Health);
};

export interface ReadinessOptions {
  readonly store: Pick<Store, 'checkWritable'>;
  readonly running: Pick<RunningRequests, 'leaving'>;
  readonly marks: Identity;
  readonly backends: Pick<Backends, 'states'>;
  readonly log: StoreLog;
  readonly connections: ConnectionLimit;
}

/**
 * Replies 503 once the gateway is to stop, without a writable store, with the database of another
 * secret, without a connection for another client or a backend, or while no backend can be reached.
 */
export function showReadiness({ store, running, marks, backends, log, connections }: ReadinessOptions): RequestHandler {
  let knewSecret = true;
  return async (_req, res) => {
    const { mark, ...written } = await checkStore(store);
    const secret = mark === undefined || marks.includes(mark);
    if (knewSecret && !secret) log.warn({}, 'the database belongs to another GATEWAY_SECRET now; start with that one');
    knewSecret = secret;
    const states = backends.states();
    const checks = {
      accepting: !running.leaving,
      connections: !connections.areFull() && canOpenFile(),
      ...written,
      secret,
      backend: states.some(isReachable),
    };
    const ready = Object.values(checks).every(Boolean);
    const counts = { up: 0, trial: 0, resting: 0, draining: 0 };
    for (const backend of states) {
      for (const { state } of backend.addresses.length > 0 ? backend.addresses : [backend]) counts[state] += 1;
    }
    res
      .status(ready ? 200 : 503)
      .set('cache-control', 'no-store')
      .json({ status: ready ? 'ready' : 'not ready', checks, backends: counts } satisfies Readiness);
  };
}

/** What callers may have provoked makes no gateway unready. One whose rest is over counts, so that a request may try it. */
function isReachable({ state, reason }: BackendState): boolean {
  return state !== 'draining' && !(state === 'resting' && reason === 'upstream_unreachable');
}

/** The store logs the reason, which may contain file names. */
async function checkStore(store: ReadinessOptions['store']): Promise<{ store: boolean; mark: string | undefined }> {
  try {
    return { store: true, mark: await store.checkWritable() };
  } catch {
    return { store: false, mark: undefined };
  }
}
