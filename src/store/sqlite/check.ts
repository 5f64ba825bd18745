import type { Database } from 'better-sqlite3';
import {
  describeUnbalanced,
  describeWrongHold,
  MAX_PROBLEMS,
  SELECT_UNBALANCED,
  SELECT_WRONG_HOLDS,
  type DatabaseCheck,
  type WrongSum,
} from '../rows/check.ts';
import { refuseOtherVersion } from './migrations.ts';
import { withSnapshot } from './snapshot.ts';

/** Checks the database and the ledger of every key at one moment. Throws StoreOpenError. */
export function checkDatabase(file: string): Promise<DatabaseCheck> {
  return withCurrentSnapshot(file, (database) => {
    const damage = findDamage(database);
    // Damaged tables give wrong results, and reading on may fail.
    if (damage.length > 0) return { records: 0, keys: 0, problems: damage };
    return {
      records: count(database, 'requests'),
      keys: count(database, 'keys'),
      problems: findLedgerProblems(database),
    };
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

function count(database: Database, table: 'requests' | 'keys'): number {
  return database.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0;
}

function findDamage(database: Database): readonly string[] {
  const lines = database.prepare<[], string>(`PRAGMA integrity_check(${MAX_PROBLEMS})`).pluck().all();
  return lines.filter((line) => line !== 'ok');
}

function findLedgerProblems(database: Database): readonly string[] {
  const unbalanced = database.prepare<[], WrongSum>(SELECT_UNBALANCED).all().map(describeUnbalanced);
  const wrongHolds = database.prepare<[], WrongSum>(SELECT_WRONG_HOLDS).all().map(describeWrongHold);
  return [...unbalanced, ...wrongHolds];
}
