import { ApiError } from '../core/errors.ts';
import { DAY_MS } from '../core/time.ts';
import type { Store, StoreLog } from './store.ts';

export interface UpkeepOptions {
  readonly recordRetentionDays: number;
  readonly clock: () => number;
  readonly log: StoreLog;
  readonly everyMs?: number;
}

const EVERY_MS = 3000;
const PRUNE_EVERY_ROUNDS = 10;

/**
 * Regularly calls `recover`, and less often `prune`. Returns a function that stops it and resolves
 * when the current round has ended.
 */
export function startUpkeep(store: Store, options: UpkeepOptions): () => Promise<void> {
  let round: Promise<void> | undefined;
  let rounds = 0;
  const timer = setInterval(() => {
    round ??= runRound(store, options, ++rounds % PRUNE_EVERY_ROUNDS === 0).finally(() => {
      round = undefined;
    });
  }, options.everyMs ?? EVERY_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await round;
  };
}

async function runRound(
  store: Store,
  { recordRetentionDays, clock, log }: UpkeepOptions,
  isPruning: boolean,
): Promise<void> {
  try {
    const recovered = await store.recover();
    if (recovered > 0) log.info({ recovered }, 'closed what a dead process left unfinished');
    if (!isPruning) return;
    const pruned = await store.prune(clock() - recordRetentionDays * DAY_MS);
    if (pruned > 0) log.info({ pruned }, 'deleted records older than the retention');
  } catch (error) {
    // The database cannot be written now, which the store says once, or the store was closed.
    if (error instanceof ApiError && error.code === 'store_unavailable') return;
    log.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'the upkeep of the store failed');
  }
}
