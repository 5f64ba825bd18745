import type { Store, StoreLog } from './store.ts';

export interface UpkeepOptions {
  readonly recordRetentionDays: number;
  readonly clock: () => number;
  readonly log: StoreLog;
  readonly everyMs?: number;
}

const EVERY_MS = 30_000;
const DAY_MS = 86_400_000;

/**
 * Closes, now and then, what dead processes left unfinished, and prunes what is older than the retention. Returns a
 * function that stops it and resolves when nothing of it runs any more.
 */
export function startUpkeep(store: Store, options: UpkeepOptions): () => Promise<void> {
  let round: Promise<void> | undefined;
  const timer = setInterval(() => {
    round ??= runRound(store, options).finally(() => {
      round = undefined;
    });
  }, options.everyMs ?? EVERY_MS);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await round;
  };
}

async function runRound(store: Store, { recordRetentionDays, clock, log }: UpkeepOptions): Promise<void> {
  try {
    const recovered = await store.recover();
    if (recovered > 0) log.info({ recovered }, 'closed what a dead process left unfinished');
    const pruned = await store.prune(clock() - recordRetentionDays * DAY_MS);
    if (pruned > 0) log.info({ pruned }, 'deleted records older than the retention');
  } catch (error) {
    // The database cannot be written now, or the store was closed; the next round begins anew.
    log.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'the upkeep of the store failed');
  }
}
