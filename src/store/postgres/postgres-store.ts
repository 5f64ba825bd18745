import type { LookupFunction } from 'node:net';
import { UTC } from '../../core/time.ts';
import { createCalendar } from '../calendar.ts';
import { createEngineStore } from '../calls/engine-store.ts';
import type { BatchQueueLimits } from '../queue/batch-queue.ts';
import { showDatabase } from '../database-url.ts';
import { type Store, type StoreLog, StoreOpenError } from '../../core/books/store.ts';
import { ALONE, createEngine } from './engine.ts';
import { toReason } from './failures.ts';
import { listenForNotices } from './notices.ts';
import { migrate } from './migrate.ts';
import { takeOwner } from './owners.ts';
import { openPool } from './pool.ts';
import { refuseForgetfulPooler } from './pooler.ts';

export interface PostgresStoreOptions {
  /** Includes the password. */
  readonly url: string;
  readonly poolSize: number;
  readonly clock: () => number;
  readonly log: StoreLog;
  readonly lookup?: LookupFunction | undefined;
  readonly limits?: Partial<BatchQueueLimits>;
  readonly timeZone?: string | undefined;
}

/** Lookups leave these connections for changes and heartbeats. */
const SPARE = 2;

/** Opens the store on PostgreSQL and creates missing tables. Throws StoreOpenError. */
export async function openPostgresStore({
  url,
  poolSize,
  clock,
  log,
  lookup,
  limits,
  timeZone = UTC,
}: PostgresStoreOptions): Promise<Store> {
  const onLost = (message: string) => log.info({ reason: message }, 'a connection to the database was lost');
  const connections = openPool({ url, size: poolSize, onLost, lookup });
  // A list may take as long as hundreds of other calls, so it has a connection of its own.
  const forLists = openPool({ url, size: 1, onLost, lookup });
  try {
    await migrate(url);
    // Those for lists are one connection, and so are the others as long as they are used in turn.
    await refuseForgetfulPooler(forLists, connections);
    const owner = await takeOwner(connections, (error) =>
      log.warn({ reason: toReason(error) }, 'the heartbeat of this process could not be written'),
    );
    const engine = createEngine({ connections, forLists }, owner, clock, createCalendar(timeZone));
    const listeners: (() => Promise<void>)[] = [];
    const { store } = createEngineStore({
      engine: {
        ...engine,
        async close() {
          await Promise.all(listeners.map((stop) => stop()));
          await engine.close();
        },
      },
      alone: ALONE,
      lookupSlots: Math.max(1, poolSize - SPARE),
      limits,
      clock,
      log,
      timeZone,
      hearCancels(heard) {
        const stop = listenForNotices({ url, connections, nameOf: () => owner.name, onNotice: heard, log, lookup });
        listeners.push(stop);
        return () => void stop();
      },
    });
    return store;
  } catch (error) {
    await Promise.all([connections.close(), forLists.close()]);
    if (error instanceof StoreOpenError) throw error;
    throw new StoreOpenError(`The database ${showDatabase(url)} cannot be opened: ${toReason(error)}.`, {
      cause: error,
    });
  }
}
