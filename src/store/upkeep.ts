import { ApiError, messageOf } from '../core/errors.ts';
import { DAY_MS } from '../core/time.ts';
import type { Store, StoreLog } from '../core/books/store.ts';

export interface UpkeepOptions {
  readonly recordRetentionDays: number;
  readonly clock: () => number;
  readonly log: StoreLog;
  readonly everyMs?: number;
}

const EVERY_MS = 3000;
const PRUNE_EVERY_ROUNDS = 10;

/**
 * Regularly calls `recover`, and less often `prune` and `rollUpUsage`. Returns a function that stops it and resolves
 * when the current round has ended.
 */
export function startUpkeep(
  store: Store,
  { recordRetentionDays, clock, log, everyMs = EVERY_MS }: UpkeepOptions,
): () => Promise<void> {
  let round: Promise<void> | undefined;
  let rounds = 0;
  let hasMoreToRollUp = true;
  const timer = setInterval(() => {
    rounds += 1;
    round ??= runRound(rounds % PRUNE_EVERY_ROUNDS === 0).finally(() => {
      round = undefined;
    });
  }, everyMs);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await round;
  };

  async function runRound(isPruning: boolean): Promise<void> {
    try {
      const recovered = await store.recover();
      if (recovered > 0) log.info({ recovered }, 'closed what a dead process left unfinished');
      if (isPruning) {
        const pruned = await store.prune(clock() - recordRetentionDays * DAY_MS);
        if (pruned > 0) log.info({ pruned }, 'deleted records older than the retention');
      }
      // A database of months catches up in steps, since a round must not keep the next one waiting.
      if (isPruning || hasMoreToRollUp) hasMoreToRollUp = await store.rollUpUsage();
    } catch (error) {
      // The database cannot be written now, which the store says once, or the store was closed.
      if (error instanceof ApiError && error.code === 'store_unavailable') return;
      log.warn({ reason: messageOf(error) }, 'the upkeep of the store failed');
    }
  }
}
