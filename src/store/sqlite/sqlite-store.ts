import { realpathSync } from 'node:fs';
import { UTC } from '../../core/time.ts';
import type { BatchQueueLimits } from '../queue/batch-queue.ts';
import { createEngineStore } from '../calls/engine-store.ts';
import type { RemoteEngine } from '../queue/operations.ts';
import { coalesceCalls } from '../queue/coalesce.ts';
import { type OperatorStore, type Store, type StoreLog, StoreOpenError } from '../../core/books/store.ts';
import { messageOf } from '../../core/errors.ts';
import { ownersInFiles, ownersInMemory, type Owners } from './owner-lock.ts';
import { createDatabaseFile, identifyFile, MovedFile } from './open-file.ts';
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

interface StartOptions {
  readonly startWorker?: StartWorker;
  /** Runs a database file in this thread, which waits for the disk then. */
  readonly isInline?: boolean;
  readonly timeZone?: string | undefined;
}

export interface SqliteStoreOptions extends StartOptions {
  readonly file: string | undefined;
  readonly clock: () => number;
  readonly log: StoreLog;
  readonly limits?: Partial<BatchQueueLimits>;
}

/** Opens the store, creates missing folders, files and tables. Throws StoreOpenError. */
export async function openSqliteStore({ clock, log, limits, ...options }: SqliteStoreOptions): Promise<SqliteStore> {
  const { engine: alone, owners } = await start(options, log);
  const engine = coalesceCalls(alone);
  // A database in memory waits for no disk: what takes long there is this process itself.
  const patience = options.file === undefined ? { answerWithinMs: 60_000 } : {};
  const { timeZone } = options;
  const { store, queue } = createEngineStore({ engine, limits: { ...patience, ...limits }, clock, log, timeZone });
  return {
    ...store,
    async recover() {
      try {
        return await store.recover();
      } finally {
        owners.keep();
      }
    },
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

interface Started {
  readonly engine: RemoteEngine;
  readonly owners: Owners;
}

async function start(
  { file, ...options }: StartOptions & { readonly file: string | undefined },
  log: StoreLog,
): Promise<Started> {
  if (file === undefined) {
    const owners = ownersInMemory();
    return {
      engine: startInline({ file, owner: owners.take().owner, owners, timeZone: options.timeZone ?? UTC }),
      owners,
    };
  }
  try {
    createDatabaseFile(file);
    // SQLite resolves links for its own files, and the lock files must be in the same folder.
    return await startOnFile(realpathSync(file), options, log);
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    throw new StoreOpenError(`The database ${file} cannot be opened: ${messageOf(error)}.`, { cause: error });
  }
}

async function startOnFile(
  file: string,
  { startWorker, isInline, timeZone = UTC }: StartOptions,
  log: StoreLog,
): Promise<Started> {
  const fileId = identifyFile(file);
  if (fileId === undefined) throw new MovedFile(file);
  const owners = ownersInFiles(file);
  const lock = owners.take();
  const options = { file, fileId, owner: lock.owner, timeZone };
  try {
    const engine =
      isInline === true
        ? startInline(options)
        : await startThread({
            engine: options,
            onDeath: (message) => log.warn({ reason: message }, 'the thread of the store died and is started again'),
            ...(startWorker === undefined ? {} : { startWorker }),
          });
    return { engine: { ...engine, close: () => engine.close().finally(() => lock.release()) }, owners };
  } catch (error) {
    owners.forget(lock.owner);
    lock.release();
    throw error;
  }
}
