import { locateDatabase } from './database-url.ts';
import { openSqliteStore } from './sqlite/sqlite-store.ts';
import type { Store, StoreLog } from './store.ts';
import { startUpkeep } from './upkeep.ts';

export interface StoreOptions {
  /** `:memory:`, or `file:` and a path. */
  readonly databaseUrl: string;
  readonly recordRetentionDays: number;
  readonly clock?: () => number;
  readonly log?: StoreLog;
}

/**
 * Opens the store which `DATABASE_URL` names, closes what dead processes left unfinished in it, and keeps it tidy until
 * it is closed. Throws StoreOpenError with one line for the operator.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { databaseUrl, recordRetentionDays, clock = Date.now, log = SILENT } = options;
  const location = locateDatabase(databaseUrl);
  const file = location.kind === 'file' ? location.path : undefined;
  const store = await openSqliteStore({ file, clock, log });
  await closeAbandoned(store, log);
  const stopUpkeep = startUpkeep(store, { recordRetentionDays, clock, log });
  return {
    ...store,
    async close() {
      // A round that still runs ends early, because its next call is refused.
      const stopped = stopUpkeep();
      await store.close();
      await stopped;
    },
  };
}

const SILENT: StoreLog = { info: () => undefined, warn: () => undefined };

async function closeAbandoned(store: Store, log: StoreLog): Promise<void> {
  try {
    const recovered = await store.recover();
    if (recovered > 0) log.info({ recovered }, 'closed what a dead process left unfinished');
  } catch (error) {
    // It could be opened but not written: the gateway says so in its readiness, and the upkeep tries again.
    log.warn({ reason: error instanceof Error ? error.message : 'unknown' }, 'recovery has to wait');
  }
}
