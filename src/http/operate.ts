import type { RequestHandler } from 'express';
import type { Store } from '../store/store.ts';
import type { Health, Readiness } from '../types/contract.ts';
import type { RunningRequests } from './records/running.ts';

/** `/healthz`: the process answers. Says nothing of the backend, whose fault a restart would not mend. */
export const showHealth: RequestHandler = (_req, res) => {
  res.set('cache-control', 'no-store').json({ status: 'ok' } satisfies Health);
};

/** `/readyz`: 503 while draining, or when no record could be written; then no request should be sent here. */
export function showReadiness({
  store,
  running,
}: {
  readonly store: Pick<Store, 'checkWritable'>;
  readonly running: Pick<RunningRequests, 'draining'>;
}): RequestHandler {
  return async (_req, res) => {
    const checks = { accepting: !running.draining, store: await isWritable(store) };
    const ready = checks.accepting && checks.store;
    res
      .status(ready ? 200 : 503)
      .set('cache-control', 'no-store')
      .json({ status: ready ? 'ready' : 'not ready', checks } satisfies Readiness);
  };
}

/** Why it is not writable is for the log of the store; the reason may name files. */
async function isWritable(store: Pick<Store, 'checkWritable'>): Promise<boolean> {
  try {
    await store.checkWritable();
    return true;
  } catch {
    return false;
  }
}
