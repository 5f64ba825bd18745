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
  /** Runs a pragma on the connection of the store and returns its first value. For the operator's commands, and for tests. */
  pragma(source: string): Promise<unknown>;
  /** Lets another process use the database through this one. */
  admit(): StoreClient;
}

/** A process that uses the database through another, which alone writes. */
export interface StoreClient {
  /** What is accepted through it belongs to the guest. It is closed with the store. */
  readonly run: RemoteEngine['run'];
  /** The guest is dead, and nothing of it is still to come: the next recovery closes what it left unfinished. */
  leave(): void;
}

export interface SqliteStoreOptions {
  /** Undefined keeps everything in memory. */
  readonly file: string | undefined;
  readonly clock: () => number;
  readonly log: StoreLog;
  /** For tests that end the thread. */
  readonly startWorker?: StartWorker;
  /** Others than the usual ones, for tests. */
  readonly limits?: Partial<BatchQueueLimits>;
}

/** Opens the store on SQLite, making folder, file and tables where they are missing. Throws StoreOpenError. */
export async function openSqliteStore({ clock, log, limits, ...options }: SqliteStoreOptions): Promise<SqliteStore> {
  const { engine: alone, owners } = await start(options, log);
  const engine = coalesceCalls(alone);
  const queue = createBatchQueue({ engine, ...createHealth(log), limits });
  return {
    ...createEngineStore({ engine, queue, clock, log }),
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
  { file, startWorker }: Omit<SqliteStoreOptions, 'clock' | 'log' | 'limits'>,
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
    // SQLite resolves links for the files beside the database; the locks must be found in the same place.
    const realFile = realpathSync(file);
    const owners = ownersInFiles(realFile);
    lock = owners.take();
    const engine = await startThread({
      engine: { file: realFile, owner: lock.owner },
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
