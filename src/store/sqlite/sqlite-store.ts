import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { createBatchQueue, type BatchQueueLimits } from '../shared/batch-queue.ts';
import { createHealth, createEngineStore } from '../shared/engine-store.ts';
import type { RemoteEngine } from '../shared/operations.ts';
import { coalesceCalls } from '../shared/coalesce.ts';
import type { OperatorStore } from '../operator.ts';
import { createPrivateFile, makePrivateFolder } from '../private-files.ts';
import { StoreOpenError, type Store, type StoreLog } from '../store.ts';
import { ownersInFiles, ownersInMemory, type OwnerLock, type Owners } from './owner-lock.ts';
import { startInline, startThread, type StartWorker } from './thread.ts';

export interface SqliteStore extends Store, OperatorStore {
  pragma(source: string): Promise<unknown>;
  /** Lets another process use the database through this one. */
  admit(): StoreClient;
}

export interface StoreClient {
  readonly run: RemoteEngine['run'];
  /** The next recovery closes what the client left unfinished. */
  leave(): void;
}

export interface SqliteStoreOptions {
  readonly file: string | undefined;
  readonly clock: () => number;
  readonly log: StoreLog;
  readonly startWorker?: StartWorker;
  /** Runs a database file in this thread, which waits for the disk then. */
  readonly isInline?: boolean;
  readonly limits?: Partial<BatchQueueLimits>;
}

/** Opens the store, creates missing folders, files and tables. Throws StoreOpenError. */
export async function openSqliteStore({ clock, log, limits, ...options }: SqliteStoreOptions): Promise<SqliteStore> {
  const { engine: alone, owners } = await start(options, log);
  const engine = coalesceCalls(alone);
  const health = createHealth(log);
  const queue = createBatchQueue({ engine, ...health, limits });
  return {
    ...createEngineStore({ engine, queue, health, clock, log }),
    pragma: (source) => queue.ask(['pragma', source], { isLookup: true }),
    admit() {
      const { owner, release } = owners.take();
      return {
        async run(mode, batch) {
          const reply = await engine.run(mode, [['asOwner', owner], ...batch]);
          return 'results' in reply ? { results: reply.results.slice(1) } : reply;
        },
        leave: release,
      };
    },
  };
}

async function start(
  { file, startWorker, isInline = false }: Omit<SqliteStoreOptions, 'clock' | 'log' | 'limits'>,
  log: StoreLog,
): Promise<{ readonly engine: RemoteEngine; readonly owners: Owners }> {
  if (file === undefined) {
    const owners = ownersInMemory();
    return { engine: startInline({ file, owner: owners.take().owner, owners }), owners };
  }
  let lock: OwnerLock | undefined;
  try {
    makePrivateFolder(dirname(file));
    createPrivateFile(file);
    // SQLite resolves links for its own files, and the lock files must be in the same folder.
    const realFile = realpathSync(file);
    const owners = ownersInFiles(realFile);
    lock = owners.take();
    const place = { file: realFile, owner: lock.owner };
    const engine = isInline
      ? startInline(place)
      : await startThread({
          engine: place,
          onDeath: (message) => log.warn({ reason: message }, 'the thread of the store died and is started again'),
          ...(startWorker === undefined ? {} : { startWorker }),
        });
    return { engine: { ...engine, close: () => engine.close().finally(() => lock?.release()) }, owners };
  } catch (error) {
    lock?.release();
    if (error instanceof StoreOpenError) throw error;
    const why = error instanceof Error ? error.message : 'unknown reason';
    throw new StoreOpenError(`The database ${file} cannot be opened: ${why}.`, { cause: error });
  }
}
