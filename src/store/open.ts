import { unreachable } from '../core/errors.ts';
import { locateDatabase } from './database-url.ts';
import { createHealth, createEngineStore } from './shared/engine-store.ts';
import { createBatchQueue, type BatchQueueLimits } from './shared/batch-queue.ts';
import type { OperatorStore } from './operator.ts';
import { openSqliteStore, type StoreClient, type SqliteStore } from './sqlite/sqlite-store.ts';
import type { Store, StoreLog } from './store.ts';
import { startUpkeep } from './upkeep.ts';

export interface StoreOptions {
  /** `:memory:`, `file:` and a path, or `postgres://` and a server. */
  readonly databaseUrl: string;
  /** How many connections to a server at most. */
  readonly databasePoolSize?: number;
  readonly recordRetentionDays: number;
  readonly clock?: () => number;
  readonly log?: StoreLog;
  /** Others than the usual ones, for tests. */
  readonly limits?: Partial<BatchQueueLimits>;
}

/**
 * Opens the store which `DATABASE_URL` names, closes what dead processes left unfinished in it, and keeps it tidy until
 * it is closed. Throws StoreOpenError with one line for the operator.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  return keepTidy(await connectStore(options), options);
}

/**
 * As `openStore`, for a database which other processes of this machine use through this one; undefined for one on a server,
 * which each of them opens itself.
 */
export async function openSharedStore(options: StoreOptions): Promise<SharedStore | undefined> {
  const { databaseUrl, clock = Date.now, log = SILENT, limits = {} } = options;
  const location = locateDatabase(databaseUrl);
  if (location.kind === 'postgres') return undefined;
  const file = location.kind === 'file' ? location.path : undefined;
  return keepTidy(await openSqliteStore({ file, clock, log, limits }), options);
}

export type SharedStore = Store & Pick<SqliteStore, 'admit'>;

/** The store of a process which uses the database of another: `run` leads to what `admit` has given it there. */
export function openClientStore({
  run,
  hearCancels,
  clock = Date.now,
  log = SILENT,
  limits = {},
}: ClientStoreOptions): Store {
  const engine = { run, close: () => Promise.resolve() };
  const queue = createBatchQueue({ engine, ...createHealth(log), limits });
  return createEngineStore({ engine, queue, clock, log, ...(hearCancels && { hearCancels }) });
}

export interface ClientStoreOptions extends Pick<StoreOptions, 'clock' | 'log' | 'limits'> {
  readonly run: StoreClient['run'];
  /** Absent where nobody tells of a cancel that another process was asked for. */
  readonly hearCancels?: Store['hearCancels'];
}

async function keepTidy<Some extends Store>(store: Some, options: StoreOptions): Promise<Some> {
  const { recordRetentionDays, clock = Date.now, log = SILENT } = options;
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

/** The store as it is, for a process that serves nobody: nothing in it is closed or pruned. Throws StoreOpenError. */
export async function connectStore(options: Omit<StoreOptions, 'recordRetentionDays'>): Promise<Store & OperatorStore> {
  const { databaseUrl, databasePoolSize = POOL_SIZE, clock = Date.now, log = SILENT, limits = {} } = options;
  const location = locateDatabase(databaseUrl);
  switch (location.kind) {
    case 'memory':
      return openSqliteStore({ file: undefined, clock, log, limits });
    case 'file':
      return openSqliteStore({ file: location.path, clock, log, limits });
    case 'postgres': {
      // Its driver is loaded by those alone who use it.
      const { openPostgresStore } = await import('./postgres/postgres-store.ts');
      return openPostgresStore({ url: location.url, poolSize: databasePoolSize, clock, log, limits });
    }
    default:
      return unreachable(location);
  }
}

const POOL_SIZE = 5;

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
