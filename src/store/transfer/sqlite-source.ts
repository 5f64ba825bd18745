import { existsSync, realpathSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import Sqlite, { type Database } from 'better-sqlite3';
import type { Batch, LedgerSums, SourceTable, TransferSource, Value } from './plan.ts';
import { type OperatorStore, StoreOpenError } from '../../core/books/store.ts';
import { checkDatabase, withCurrentSnapshot } from '../sqlite/check.ts';
import { toFailureReason } from '../sqlite/failures.ts';
import { isOwnerDead, listOwners } from '../sqlite/owner-lock.ts';
import { openSqliteStore } from '../sqlite/sqlite-store.ts';

const BATCH_ROWS = 2000;

const OWN_TABLES: ReadonlySet<string> = new Set(['migrations', 'write_probes']);

/**
 * Passes the database to `use` while no other process can write it, so that no row is missed. First
 * it runs missing migrations and closes what dead gateways left unfinished. Throws StoreOpenError
 * when a process has the database open, or it is damaged.
 */
export async function withIdleSource<Result>(
  file: string,
  clock: () => number,
  use: (source: TransferSource, closed: number) => Promise<Result>,
): Promise<Result> {
  if (!existsSync(file)) throw new StoreOpenError(`There is no database ${file}.`);
  const realFile = realpathSync(file);
  refuseInUse(realFile);
  const closed = await closeUnfinished(realFile, clock);
  const database = openLocked(realFile);
  try {
    // Another process may have opened it before the lock.
    refuseInUse(realFile);
    await refuseUnsound(realFile);
    return await use(createSource(database), closed);
  } finally {
    database.close();
  }
}

/** As `withIdleSource`, without any change; `use` also gets how many requests are unfinished. */
export function withSourceAsItIs<Result>(
  file: string,
  use: (source: TransferSource, unfinished: number) => Promise<Result>,
): Promise<Result> {
  return withCurrentSnapshot(file, async (database) => {
    refuseInUse(realpathSync(file));
    await refuseUnsound(file);
    return use(createSource(database), countUnfinished(database));
  });
}

function refuseInUse(file: string): void {
  const living = listOwners(file).filter((owner) => !isOwnerDead(file, owner));
  if (living.length === 0) return;
  throw new StoreOpenError(
    `The database ${file} is open in another process; stop the gateway first, so that nothing is left behind.`,
  );
}

async function refuseUnsound(file: string): Promise<void> {
  const { problems } = await checkDatabase(file);
  if (problems.length === 0) return;
  throw new StoreOpenError(`The database ${file} is not sound; db check says more. ${problems[0]}`);
}

const CLOSED_WITHIN_MS = 15_000;

async function closeUnfinished(file: string, clock: () => number): Promise<number> {
  const store = await openSqliteStore({ file, clock, log: { info: () => undefined, warn: () => undefined } });
  const untilMs = performance.now() + CLOSED_WITHIN_MS;
  try {
    let closed = await store.recover();
    // An owner whose lock file is missing is dead when it has not made another one for a while.
    while ((await hasUnfinished(store)) && performance.now() < untilMs) {
      await delay(CLOSED_WITHIN_MS / 20);
      closed += await store.recover();
    }
    return closed;
  } finally {
    await store.close();
  }
}

async function hasUnfinished(store: OperatorStore): Promise<boolean> {
  const page = await store.listAll({ status: 'processing', limit: 1 });
  return page !== undefined && page.records.length > 0;
}

/** The write transaction ends with this process. */
function openLocked(file: string): Database {
  const database = new Sqlite(file, { timeout: 0, fileMustExist: true });
  try {
    database.exec('BEGIN IMMEDIATE');
    const unfinished = countUnfinished(database);
    if (unfinished > 0) throw new StoreOpenError(`The database ${file} has requests that are running.`);
    return database;
  } catch (error) {
    database.close();
    if (toFailureReason(error) !== 'busy') throw error;
    throw new StoreOpenError(`The database ${file} is locked by another process.`, { cause: error });
  }
}

function countUnfinished(database: Database): number {
  const count = database.prepare<[], number>('SELECT count(*) FROM requests WHERE owner IS NOT NULL').pluck();
  return count.get() ?? 0;
}

/** The database itself lists its tables and columns, so that later migrations are included. */
function createSource(database: Database): TransferSource {
  return {
    tables: listTables(database),
    read: (table) => readBatches(database, table),
    sums: () => readSums(database),
  };
}

function listTables(database: Database): readonly SourceTable[] {
  return database
    .prepare<[], string>(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name`,
    )
    .pluck()
    .all()
    .filter((name) => !OWN_TABLES.has(name))
    .map((name) => describeTable(database, name));
}

function describeTable(database: Database, name: string): SourceTable {
  const found = database
    .prepare<[string], { name: string; position: number }>(
      'SELECT name, pk AS position FROM pragma_table_info(?) ORDER BY cid',
    )
    .all(name);
  const key = found
    .filter(({ position }) => position > 0)
    .sort((one, other) => one.position - other.position)
    .map(({ name }) => name);
  return {
    name,
    key,
    columns: found.map(({ name }) => name),
    rows: database.prepare<[], number>(`SELECT count(*) FROM ${name}`).pluck().get() ?? 0,
    highestNumber: findHighestNumber(database, name, key),
  };
}

/** SQLite remembers the numbers of deleted rows where they must not be reused. */
function findHighestNumber(database: Database, name: string, [first]: readonly string[]): bigint {
  const find = (sql: string) => database.prepare<[], Value>(sql).pluck().safeIntegers().get();
  const numbers = [
    find(`SELECT seq FROM sqlite_sequence WHERE name = '${name}'`),
    find(`SELECT max(${first}) FROM ${name}`),
  ].filter((number) => typeof number === 'bigint');
  return numbers.reduce((highest, number) => (number > highest ? number : highest), 0n);
}

function* readBatches(database: Database, { name, columns }: SourceTable): Generator<Batch> {
  const rows = database
    .prepare<[], Value[]>(`SELECT ${columns.join(', ')} FROM ${name}`)
    .raw()
    .safeIntegers();
  let batch: Value[][] = [];
  for (const row of rows.iterate()) {
    batch.push(row);
    if (batch.length < BATCH_ROWS) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function readSums(database: Database): LedgerSums {
  const row = database
    .prepare<[], [ledger: bigint, balances: bigint, held: bigint]>(`
    SELECT (SELECT coalesce(sum(amount_micro), 0) FROM ledger), coalesce(sum(balance_micro), 0),
      coalesce(sum(held_micro), 0)
    FROM (SELECT balance_micro, held_micro FROM keys UNION ALL SELECT balance_micro, held_micro FROM groups)`)
    .raw()
    .safeIntegers()
    .get();
  const [ledger, balances, held] = row ?? [0n, 0n, 0n];
  return { ledger: String(ledger), balances: String(balances), held: String(held) };
}
