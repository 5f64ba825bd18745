import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { openSqliteStore, type SqliteStore, type SqliteStoreOptions } from '../../src/store/sqlite/sqlite-store.ts';
import type { StoreLog } from '../../src/core/books/store.ts';

export interface Workshop {
  readonly folder: string;
  /** Where the stores of this test keep their records. */
  readonly file: string;
  /** What the stores have told their operator. */
  readonly said: readonly string[];
  readonly log: StoreLog;
  /** In this thread, unless the options ask for another. */
  open(options?: Partial<SqliteStoreOptions>): Promise<SqliteStore>;
  /** Changes the database behind the back of all stores, its schema too: as a person with a tool may, or a bug of ours. */
  tamper(sql: string): void;
  /** Closes every store and removes the folder. */
  clear(): Promise<void>;
}

/** A folder of its own for a test that opens stores, and what it needs to open them. */
export function makeWorkshop(): Workshop {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  const file = join(folder, 'data', 'gateway.db');
  const stores: SqliteStore[] = [];
  const said: string[] = [];
  const log: StoreLog = {
    info: (_fields, message) => said.push(message),
    warn: (_fields, message) => said.push(message),
  };
  return {
    folder,
    file,
    said,
    log,
    async open(options = {}) {
      const isInline = options.startWorker === undefined;
      const store = await openSqliteStore({ file, clock: Date.now, log, isInline, ...options });
      stores.push(store);
      return store;
    },
    tamper(sql) {
      const database = new Sqlite(file);
      database.unsafeMode(true);
      database.pragma('writable_schema = ON');
      database.exec(sql);
      database.close();
    },
    async clear() {
      await Promise.all(stores.map((store) => store.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Removes all records, and leaves the tables. */
export function emptyDatabase(file: string): void {
  const database = new Sqlite(file);
  database.exec(
    'DELETE FROM requests; DELETE FROM keys; DELETE FROM groups; DELETE FROM ledger; ' +
      'DELETE FROM usage; DELETE FROM group_usage; DELETE FROM alerts; DELETE FROM usage_rollups; ' +
      'DELETE FROM usage_sums; DELETE FROM request_stats',
  );
  database.close();
}

/** Takes the lock for writing of this database, as a person with a database tool may, and returns what gives it back. */
export function lockDatabase(file: string): () => void {
  const database = new Sqlite(file);
  database.exec('BEGIN EXCLUSIVE');
  return () => void database.close();
}

/** The code of the ApiError with which a call fails; undefined when it does not. */
export async function failureCode(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}
