import type { Database } from 'better-sqlite3';
import { checkLedger, MAX_PROBLEMS, type DatabaseCheck } from '../sql/check.ts';
import { refuseOtherVersion } from './migrations.ts';
import { withSnapshot } from './snapshot.ts';
import { prepareSteps } from './steps.ts';

/** Checks the database and the ledger of every key at one moment. Throws StoreOpenError. */
export function checkDatabase(file: string): Promise<DatabaseCheck> {
  return withCurrentSnapshot(file, (database) => {
    const damage = findDamage(database);
    // Damaged tables give wrong results, and reading on may fail.
    return damage.length > 0 ? { records: 0, keys: 0, problems: damage } : prepareSteps(database)(checkLedger());
  });
}

/** As `withSnapshot`, for a database that has exactly the migrations of this program. */
export function withCurrentSnapshot<Result>(
  file: string,
  read: (database: Database) => Result | Promise<Result>,
): Promise<Result> {
  return withSnapshot(file, (database) => {
    refuseOtherVersion(database);
    return read(database);
  });
}

function findDamage(database: Database): readonly string[] {
  const lines = database.prepare<[], string>(`PRAGMA integrity_check(${MAX_PROBLEMS})`).pluck().all();
  return lines.filter((line) => line !== 'ok');
}
