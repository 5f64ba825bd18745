import type { Client } from 'pg';
import { showDatabase } from '../database-url.ts';
import { findLedgerProblems } from '../sql/check.ts';
import { runToEnd } from '../postgres/steps.ts';
import { connect, disconnect, explainFailure, withClient } from '../postgres/client.ts';
import { hasTable } from '../postgres/has-table.ts';
import { migrate } from '../postgres/migrate.ts';
import { listMigrations, MIGRATIONS } from '../postgres/migrations.ts';
import { DEAD_AFTER_S } from '../postgres/owners.ts';
import { toConnection, toStorable } from '../postgres/pool.ts';
import { refuseUnfinishedTransfer } from '../postgres/unfinished-transfer.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { refuseNewer } from '../rows/migrations.ts';
import type { Batch, LedgerSums, SourceTable, TransferTarget } from './plan.ts';

/** The server then rolls back a run that lost its connection. */
const CUT_OFF_AFTER_MS = 60_000;

export interface TargetOptions {
  readonly url: string;
  readonly tables: readonly SourceTable[];
}

/** Checks whether a transfer could begin. Throws StoreOpenError when it could not. */
export async function checkTarget(options: TargetOptions): Promise<void> {
  return explain(options.url, () => withClient(options.url, (client) => refuseUsed(client, options)));
}

/** Connects and creates missing tables. Throws StoreOpenError, as all calls of the target do. */
export async function openTarget({ url, tables }: TargetOptions): Promise<TransferTarget> {
  const { client, statementsOf } = await explain(url, async () => {
    const client = await connect(url, { idle_in_transaction_session_timeout: CUT_OFF_AFTER_MS });
    try {
      // The check precedes any change, because other programs may use the database.
      await refuseUsed(client, { url, tables });
      await migrate(url);
      await begin(client, { url, tables });
      return { client, statementsOf: await prepareStatements(client, tables) };
    } catch (error) {
      await disconnect(client);
      throw error;
    }
  });
  const attempt = <Result>(work: () => Promise<Result>) => explain(url, work);
  return {
    write: (table, batch) => attempt(async () => void (await client.query(statementsOf(table).insert, toLists(batch)))),
    settle: () =>
      attempt(async () => void (await client.query(`ANALYZE ${tables.map(({ name }) => name).join(', ')}`))),
    countEqual: (table, batch) => attempt(() => readNumber(client, statementsOf(table).countEqual, toLists(batch))),
    count: ({ name }) => attempt(() => readNumber(client, `SELECT count(*) FROM ${name}`)),
    sums: () => attempt(() => readSums(client)),
    findLedgerProblems: () => attempt(() => runToEnd(toConnection(client), findLedgerProblems())),
    commit: () => attempt(() => commit(client, tables)),
    close: () => disconnect(client),
  };
}

async function begin(client: Client, options: TargetOptions): Promise<void> {
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  // A gateway that starts now waits for the table of owners, and gives up. Another transfer waits, and finds what this one brought.
  await client.query(`LOCK TABLE owners, ${options.tables.map(({ name }) => name).join(', ')} IN EXCLUSIVE MODE`);
  await refuseUsed(client, options);
  // A gateway that was started too early may have made it. That of the source wins.
  await client.query('DELETE FROM secret_mark');
}

/** Throws StoreOpenError for a database that a gateway or a command uses, or that is not empty. */
async function refuseUsed(client: Client, { url, tables }: TargetOptions): Promise<void> {
  refuseNewer(showDatabase(url), await listMigrations(client), MIGRATIONS);
  await refuseUnfinishedTransfer(client);
  await refuseLiving(client, url);
  const found: string[] = [];
  for (const { name } of tables) {
    if (name === 'secret_mark' || !(await hasTable(client, name))) continue;
    const count = await readNumber(client, `SELECT count(*) FROM ${name}`);
    if (count > 0) found.push(`${count} rows in ${name}`);
  }
  if (found.length === 0) return;
  throw new StoreOpenError(`${showDatabase(url)} is not empty: it has ${found.join(', ')}.`);
}

async function refuseLiving(client: Client, url: string): Promise<void> {
  if (!(await hasTable(client, 'owners'))) return;
  const { rows } = await client.query(
    `SELECT FROM owners WHERE seen_at > clock_timestamp() - interval '${DEAD_AFTER_S} seconds' LIMIT 1`,
  );
  if (rows.length === 0) return;
  throw new StoreOpenError(
    `${showDatabase(url)} is in use by a gateway, or was within the last ${DEAD_AFTER_S} seconds; stop it first.`,
  );
}

async function commit(client: Client, tables: readonly SourceTable[]): Promise<void> {
  for (const { name, key, highestNumber } of tables) {
    if (highestNumber === 0n) continue;
    await client.query('SELECT setval(pg_get_serial_sequence($1, $2), $3)', [name, key[0], highestNumber]);
  }
  // The upkeep of a gateway drops the entries of deleted keys and groups, which it finds in this table.
  await client.query(`
    INSERT INTO deleted_keys
    SELECT DISTINCT key FROM ledger WHERE NOT EXISTS (SELECT FROM keys WHERE keys.seq = ledger.key)
      AND NOT EXISTS (SELECT FROM groups WHERE groups.seq = -ledger.key)`);
  await client.query('COMMIT');
}

interface TableStatements {
  readonly insert: string;
  readonly countEqual: string;
}

async function prepareStatements(
  client: Client,
  tables: readonly SourceTable[],
): Promise<(table: SourceTable) => TableStatements> {
  const statements = new Map<string, TableStatements>();
  for (const table of tables) statements.set(table.name, toStatements(table, await readTypes(client, table)));
  return ({ name }) => {
    const found = statements.get(name);
    if (found === undefined) throw new Error(`the table ${name} was not named when the transfer began`);
    return found;
  };
}

/** Returns the types of the columns here. Throws StoreOpenError when one is missing. */
async function readTypes(client: Client, { name, columns }: SourceTable): Promise<readonly string[]> {
  const { rows } = await client.query<{ column: string; type: string }>(
    `SELECT attname AS column, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
    [name],
  );
  const types = new Map(rows.map(({ column, type }) => [column, type]));
  return columns.map((column) => {
    const type = types.get(column);
    if (type === undefined) throw new StoreOpenError(`The target has no column ${column} in a table ${name}.`);
    return type;
  });
}

function toStatements({ name, columns, key }: SourceTable, types: readonly string[]): TableStatements {
  const lists = `unnest(${types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')})`;
  const of = (alias: string, names: readonly string[]) => names.map((column) => `${alias}.${column}`).join(', ');
  return {
    insert: `INSERT INTO ${name} (${columns.join(', ')}) OVERRIDING SYSTEM VALUE SELECT * FROM ${lists}`,
    countEqual: `
      SELECT count(*) FROM ${lists} AS source (${columns.join(', ')})
      JOIN ${name} AS target ON (${of('target', key)}) = (${of('source', key)})
      WHERE (${of('target', columns)}) IS NOT DISTINCT FROM (${of('source', columns)})`,
  };
}

function toLists(rows: Batch): unknown[][] {
  return (rows[0] ?? []).map((_, index) => rows.map((row) => toStorable(row[index])));
}

async function readSums(client: Client): Promise<LedgerSums> {
  const { rows } = await client.query<LedgerSums>(`
    SELECT (SELECT coalesce(sum(amount_micro), 0) FROM ledger)::text AS ledger,
      coalesce(sum(balance_micro), 0)::text AS balances, coalesce(sum(held_micro), 0)::text AS held
    FROM (SELECT balance_micro, held_micro FROM keys UNION ALL SELECT balance_micro, held_micro FROM groups) AS accounts`);
  return rows[0] ?? { ledger: '0', balances: '0', held: '0' };
}

async function readNumber(client: Client, text: string, values: unknown[] = []): Promise<number> {
  const { rows } = await client.query<[number]>({ text, values, rowMode: 'array' });
  return rows[0]?.[0] ?? 0;
}

function explain<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  return explainFailure({ url, problem: 'cannot be used' }, work);
}
