import type { LookupFunction } from 'node:net';
import { messageOf, unreachable } from '../core/errors.ts';
import { given } from '../core/given.ts';
import { locateDatabase } from './database-url.ts';
import { createEngineStore } from './calls/engine-store.ts';
import type { BatchQueueLimits } from './queue/batch-queue.ts';
import { openSqliteStore, type SqliteStore, type StoreClient } from './sqlite/sqlite-store.ts';
import type { Store, StoreLog } from '../core/books/store.ts';
import { startUpkeep } from './upkeep.ts';

interface CallOptions {
  readonly clock?: () => number;
  readonly log?: StoreLog;
  /** How long the end of a request may wait for the disk. */
  readonly settleTimeoutMs?: number;
  readonly limits?: Partial<BatchQueueLimits>;
  /** That of the days and months of spend limits; UTC by default. */
  readonly timeZone?: string;
}

export interface ConnectOptions extends CallOptions {
  readonly databaseUrl: string;
  /** Finds the address of a server. */
  readonly lookup?: LookupFunction;
  /** Runs a database file in this thread, which waits for the disk then. */
  readonly isInline?: boolean;
}

export interface StoreOptions extends ConnectOptions {
  readonly recordRetentionDays: number;
}

/**
 * Opens the store that `DATABASE_URL` names, and maintains it until it is closed. Throws
 * StoreOpenError with one line for the operator.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  return keepTidy(await connectStore(options), options);
}

/**
 * As `openStore`, for a database that other processes use through this one. Undefined for a
 * database on a server, which each process opens itself.
 */
export async function openSharedStore(options: StoreOptions): Promise<SharedStore | undefined> {
  const location = locateDatabase(options.databaseUrl);
  if (location.kind === 'postgres') return undefined;
  const file = location.kind === 'file' ? location.path : undefined;
  return keepTidy(await openSqliteStore({ file, ...commonOf(options) }), options);
}

export type SharedStore = Store & Pick<SqliteStore, 'admit'>;

/**
 * Opens the store on the database of another process. `run` leads to the result of `admit` there.
 */
export function openClientStore({ run, hearCancels, ...options }: ClientStoreOptions): Store {
  const engine = { run, close: () => Promise.resolve() };
  return createEngineStore({ engine, ...commonOf(options), ...(hearCancels && { hearCancels }) }).store;
}

export interface ClientStoreOptions extends CallOptions {
  readonly run: StoreClient['run'];
  readonly hearCancels?: Store['hearCancels'];
}

async function keepTidy<Some extends Store>(store: Some, options: StoreOptions): Promise<Some> {
  const { recordRetentionDays } = options;
  const { clock, log } = commonOf(options);
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

/** Opens the store without recovery or pruning. Throws StoreOpenError. */
export async function connectStore(options: ConnectOptions): Promise<Store> {
  const { databaseUrl, lookup, isInline = false } = options;
  const location = locateDatabase(databaseUrl);
  switch (location.kind) {
    case 'memory':
      return openSqliteStore({ file: undefined, ...commonOf(options) });
    case 'file':
      return openSqliteStore({ file: location.path, isInline, ...commonOf(options) });
    case 'postgres': {
      // Only gateways on PostgreSQL load its driver.
      const { openPostgresStore } = await import('./postgres/postgres-store.ts');
      return openPostgresStore({ url: location.url, poolSize: POOL_SIZE, lookup, ...commonOf(options) });
    }
    default:
      return unreachable(location);
  }
}

const POOL_SIZE = 5;

/** Returns what every store is opened with. */
function commonOf({ clock = Date.now, log = SILENT, settleTimeoutMs, limits, timeZone }: CallOptions) {
  return { clock, log, limits: { ...given({ keptWithinMs: settleTimeoutMs }), ...limits }, timeZone };
}

const SILENT: StoreLog = { info: () => undefined, warn: () => undefined };

async function closeAbandoned(store: Store, log: StoreLog): Promise<void> {
  try {
    const recovered = await store.recover();
    if (recovered > 0) log.info({ recovered }, 'closed what a dead process left unfinished');
  } catch (error) {
    // The readiness check reports that the database cannot be written. The upkeep tries again.
    log.warn({ reason: messageOf(error) }, 'recovery has to wait');
  }
}
