import { randomBytes } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { createLane, type LaneLimits } from '../engine/lane.ts';
import { createHealth, createLaneStore } from '../engine/lane-store.ts';
import type { RemoteEngine } from '../engine/operations.ts';
import type { OperatorStore } from '../operator.ts';
import { createPrivateFile, makePrivateFolder } from '../private-files.ts';
import { StoreOpenError, type Store, type StoreLog } from '../store.ts';
import { takeOwnerLock, type OwnerLock } from './owner-lock.ts';
import { startInline, startThread, type StartWorker } from './thread.ts';

export interface SqliteStore extends Store, OperatorStore {
  /** Runs a pragma on the connection of the store and returns its first value. For the operator's commands, and for tests. */
  pragma(source: string): Promise<unknown>;
}

export interface SqliteStoreOptions {
  /** Undefined keeps everything in memory. */
  readonly file: string | undefined;
  readonly clock: () => number;
  readonly log: StoreLog;
  /** For tests that end the thread. */
  readonly startWorker?: StartWorker;
  /** Others than the usual ones, for tests. */
  readonly limits?: Partial<LaneLimits>;
}

/** Opens the store on SQLite, making folder, file and tables where they are missing. Throws StoreOpenError. */
export async function openSqliteStore({ clock, log, limits, ...options }: SqliteStoreOptions): Promise<SqliteStore> {
  const engine = await start(options, log);
  const lane = createLane({ engine, ...createHealth(log), limits });
  return {
    ...createLaneStore({ engine, lane, clock, log }),
    pragma: (source) => lane.ask(['pragma', source], { isLookup: true }),
  };
}

async function start(
  { file, startWorker }: Omit<SqliteStoreOptions, 'clock' | 'log' | 'limits'>,
  log: StoreLog,
): Promise<RemoteEngine> {
  if (file === undefined) {
    const owner = randomBytes(8).toString('hex');
    return startInline({ file, owner });
  }
  let lock: OwnerLock | undefined;
  try {
    makePrivateFolder(dirname(file));
    createPrivateFile(file);
    // SQLite resolves links for the files beside the database; the locks must be found in the same place.
    const realFile = realpathSync(file);
    lock = takeOwnerLock(realFile);
    const engine = await startThread({
      engine: { file: realFile, owner: lock.owner },
      onDeath: (message) => log.warn({ reason: message }, 'the thread of the store died and is started again'),
      ...(startWorker === undefined ? {} : { startWorker }),
    });
    return { ...engine, close: () => engine.close().finally(() => lock?.release()) };
  } catch (error) {
    lock?.release();
    if (error instanceof StoreOpenError) throw error;
    const why = error instanceof Error ? error.message : 'unknown reason';
    throw new StoreOpenError(`The database ${file} cannot be opened: ${why}.`, { cause: error });
  }
}
