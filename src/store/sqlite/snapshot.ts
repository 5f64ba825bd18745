import { existsSync } from 'node:fs';
import Sqlite, { type Database } from 'better-sqlite3';
import { StoreOpenError } from '../../core/books/store.ts';
import { messageOf } from '../../core/errors.ts';
import { checkApplication } from './database.ts';
import { toFailureReason } from './failures.ts';

/**
 * Passes the database to `read` as it is at this moment, read-only. Blocks the calling thread but
 * no writers. Throws StoreOpenError when there is no such database, or it cannot be read.
 */
export async function withSnapshot<Result>(
  file: string,
  read: (database: Database) => Result | Promise<Result>,
): Promise<Result> {
  if (!existsSync(file)) throw new StoreOpenError(`There is no database ${file}.`);
  let database: Database | undefined;
  try {
    database = new Sqlite(file, { readonly: true, fileMustExist: true });
    // The first statement after BEGIN takes the snapshot.
    database.exec('BEGIN');
    checkApplication(database);
    return await read(database);
  } catch (error) {
    if (toFailureReason(error) === undefined) throw error;
    throw new StoreOpenError(`The database ${file} cannot be read: ${messageOf(error)}.`, { cause: error });
  } finally {
    database?.close();
  }
}
