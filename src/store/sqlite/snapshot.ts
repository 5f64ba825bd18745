import { existsSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import { StoreOpenError } from '../store.ts';
import { checkApplication } from './database.ts';
import { toFailureReason } from './failures.ts';

/**
 * Opens the database for reading alone and shows it to `read` as it is at this moment, however much is written meanwhile.
 * On the calling thread, and for as long as `read` takes: this is for the operator's commands. Writers are not held up, but
 * the write-ahead file grows until the end. Throws StoreOpenError when there is no such database, or it cannot be read.
 */
export async function withSnapshot<Result>(
  file: string,
  read: (database: Database) => Result | Promise<Result>,
): Promise<Result> {
  if (!existsSync(file)) throw new StoreOpenError(`There is no database ${file}.`);
  let database: Database | undefined;
  try {
    database = new Sqlite(file, { readonly: true, fileMustExist: true });
    // The snapshot is that of the first statement after BEGIN, which this is.
    database.exec('BEGIN');
    checkApplication(database);
    return await read(database);
  } catch (error) {
    if (toFailureReason(error) === undefined) throw error;
    const why = error instanceof Error ? error.message : 'unknown reason';
    throw new StoreOpenError(`The database ${file} cannot be read: ${why}.`, { cause: error });
  } finally {
    database?.close();
  }
}
