import Sqlite, { type Database } from 'better-sqlite3';
import type { FailureReason } from '../queue/failures.ts';
import type { Migration } from '../rows/migrations.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { toFailureReason } from './failures.ts';
import { migrate, MIGRATIONS } from './migrations.ts';

export interface DatabaseOptions {
  readonly file: string;
  readonly openWithinMs: number;
  readonly migrations?: readonly Migration[];
}

/** Databases of other programs are refused. `file` shows this number. */
const APPLICATION_ID = 0x52_65_71_73;

/** Short, because lookups can be answered meanwhile and the queue retries. */
const BUSY_TIMEOUT_MS = 50;

const WAL_KEEPS_BYTES = 16 * 1024 * 1024;

/** The database in memory that was opened first, as it began. Further ones of this process, as in tests, begin as its copies. */
let blank: Buffer | undefined;

/** Opens and migrates the database. Throws StoreOpenError with one line for the operator. */
export function openDatabase({ file, openWithinMs, migrations = MIGRATIONS }: DatabaseOptions): Database {
  const deadlineMs = performance.now() + openWithinMs;
  for (;;) {
    try {
      return open(file, migrations);
    } catch (error) {
      const reason = toFailureReason(error);
      if (reason === undefined) throw error;
      // Some locks fail without waiting, such as the switch to WAL by another process that starts.
      if (reason !== 'busy' || performance.now() > deadlineMs) {
        throw new StoreOpenError(`The database ${file} ${REFUSALS[reason]}.`, { cause: error });
      }
      sleep(BUSY_TIMEOUT_MS);
    }
  }
}

const REFUSALS: Readonly<Record<FailureReason, string>> = {
  busy: 'is locked by another process',
  starting: 'is not open yet',
  full: 'cannot be written: the disk is full',
  read_only: 'cannot be written: it is read-only',
  io_error: 'cannot be read or written',
  moved: 'was deleted or replaced',
  corrupt: 'is corrupt or not a database; restore a backup or move the file away',
  lost: 'is not open',
};

function open(file: string, migrations: readonly Migration[]): Database {
  const isInMemory = file === ':memory:';
  const isUsual = isInMemory && migrations === MIGRATIONS;
  const source = (isUsual ? blank : undefined) ?? file;
  const database = new Sqlite(source, { timeout: BUSY_TIMEOUT_MS, fileMustExist: !isInMemory });
  try {
    const isNew = checkApplication(database);
    // It has no effect after the first page is written. It lets pages be freed without VACUUM.
    database.pragma('auto_vacuum = INCREMENTAL');
    database.pragma('journal_mode = WAL');
    // The default of this build is NORMAL, which may lose the last commits.
    database.pragma('synchronous = FULL');
    // On macOS fsync leaves the data in the cache of the drive. Other systems ignore these.
    database.pragma('fullfsync = ON');
    database.pragma('checkpoint_fullfsync = ON');
    // No lookup here holds a snapshot for long, so the log is reused and does not grow.
    database.pragma('wal_autocheckpoint = 1000');
    database.pragma(`journal_size_limit = ${WAL_KEEPS_BYTES}`);
    // Savepoints stay out of the temporary folder of the system.
    database.pragma('temp_store = MEMORY');
    if (isNew) database.pragma(`application_id = ${APPLICATION_ID}`);
    migrate(database, migrations);
    if (isUsual) blank ??= database.serialize();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Returns whether the database is empty. Throws StoreOpenError for a database of another program.
 */
export function checkApplication(database: Database): boolean {
  const tables = database.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get();
  const applicationId = database.pragma('application_id', { simple: true });
  if (applicationId === APPLICATION_ID) return false;
  if (tables !== 0 || applicationId !== 0) {
    throw new StoreOpenError(`The database ${database.name} belongs to another program.`);
  }
  return true;
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
