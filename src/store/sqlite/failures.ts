import Sqlite from 'better-sqlite3';
import type { FailureReason } from '../queue/failures.ts';

/** An entry also covers the extended codes that begin with it. */
const REASONS: readonly (readonly [code: string, reason: FailureReason])[] = [
  ['SQLITE_BUSY', 'busy'],
  ['SQLITE_LOCKED', 'busy'],
  ['SQLITE_FULL', 'full'],
  // The file was removed or replaced; a new connection may find another one.
  ['SQLITE_READONLY_DBMOVED', 'io_error'],
  ['SQLITE_READONLY', 'read_only'],
  ['SQLITE_CORRUPT', 'corrupt'],
  ['SQLITE_NOTADB', 'corrupt'],
  ['SQLITE_IOERR', 'io_error'],
  ['SQLITE_CANTOPEN', 'io_error'],
  ['SQLITE_PERM', 'io_error'],
  ['SQLITE_NOMEM', 'io_error'],
  ['SQLITE_PROTOCOL', 'io_error'],
];

/** Returns why the database failed; undefined for an error of the caller. */
export function toFailureReason(error: unknown): FailureReason | undefined {
  if (!(error instanceof Sqlite.SqliteError)) return undefined;
  return REASONS.find(([code]) => error.code.startsWith(code))?.[1];
}
