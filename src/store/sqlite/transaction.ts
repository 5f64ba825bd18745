import type { Database } from 'better-sqlite3';

/** The same work, all of it or nothing. Within another transaction it is a savepoint of that one. */
export function inTransaction<Args extends unknown[], Result>(
  database: Database,
  work: (...args: Args) => Result,
): (...args: Args) => Result {
  return database.transaction(work);
}
