import type { Client } from 'pg';
import type { Batch, LedgerSums, SourceTable, TransferState, TransferTarget } from './plan.ts';
import { findLedgerProblems } from '../postgres/check.ts';
import { connect, disconnect, explainFailure, withClient } from '../postgres/client.ts';
import { migrate } from '../postgres/migrate.ts';
import { listMigrations, refuseNewer } from '../postgres/migrations.ts';
import { toConnection, toStorable } from '../postgres/pool.ts';
import { examineTarget, forgetUnfinished, readTypes, refuseLiving, type TargetOptions } from './postgres-begin.ts';
import { createMarks, MARK_TABLE, readMarks } from './postgres-mark.ts';

/** The server then rolls back a run that lost its connection, so that the next can continue. */
const CUT_OFF_AFTER_MS = 60_000;

/** Checks whether a transfer could begin or continue. Throws StoreOpenError when it could not. */
export async function checkTarget(options: TargetOptions): Promise<TransferState> {
  return explain(options.url, () =>
    withClient(options.url, async (client) => {
      refuseNewer(options.url, await listMigrations(client));
      return examineTarget(client, options);
    }),
  );
}

/** Connects and creates missing tables. Throws StoreOpenError, as all calls of the target do. */
export async function openTarget({ url, tables }: TargetOptions): Promise<TransferTarget> {
  const { client, statements } = await explain(url, async () => {
    const client = await connect(url, { idle_in_transaction_session_timeout: CUT_OFF_AFTER_MS });
    try {
      // The check precedes any change, because other programs may use the database.
      if ((await readMarks(client)) === undefined) await examineTarget(client, { url, tables });
      await migrate(url, { isForTransfer: true });
      return { client, statements: await prepareStatements(client, tables) };
    } catch (error) {
      await disconnect(client);
      throw error;
    }
  });
  const attempt = <Result>(work: () => Promise<Result>) => explain(url, work);
  return {
    begin: ({ restart }) => attempt(() => inTransaction(client, () => begin(client, { url, tables }, restart))),
    countArrived: ({ name }) =>
      attempt(() => readNumber(client, `SELECT arrived_rows FROM ${MARK_TABLE} WHERE table_name = $1`, [name])),
    take: ({ name }, read) =>
      attempt(() => inTransaction(client, () => take(client, { name, insert: statements.of(name).insert, read }))),
    settle: () =>
      attempt(async () => void (await client.query(`ANALYZE ${tables.map(({ name }) => name).join(', ')}`))),
    countEqual: ({ name }, batch) => attempt(() => readNumber(client, statements.of(name).countEqual, toLists(batch))),
    count: ({ name }) => attempt(() => readNumber(client, `SELECT count(*) FROM ${name}`)),
    sums: () => attempt(() => readSums(client)),
    findLedgerProblems: () => attempt(() => findLedgerProblems(toConnection(client))),
    finish: () => attempt(() => inTransaction(client, () => finish(client, { url, tables }))),
    close: () => disconnect(client),
  };
}

async function begin(client: Client, options: TargetOptions, restart: boolean): Promise<TransferState> {
  // Of two commands at the same time, the second one waits here and finds the marks of the first.
  await client.query('LOCK TABLE migrations IN EXCLUSIVE MODE');
  if (restart) await forgetUnfinished(client, options);
  const state = await examineTarget(client, options);
  if (state === 'new') {
    await client.query('DELETE FROM secret_mark');
    await createMarks(client, options.tables);
  }
  return state;
}

interface Taking {
  readonly name: string;
  readonly insert: string;
  readonly read: (position: string | null) => Batch | undefined;
}

/** The rows and the position are committed together, so that no row is copied twice. */
async function take(client: Client, { name, insert, read }: Taking): Promise<number> {
  // When this has the row, the last transaction of a killed run has ended.
  const { rows: marks } = await client.query<{ position: string | null }>(
    `SELECT position FROM ${MARK_TABLE} WHERE table_name = $1 FOR UPDATE`,
    [name],
  );
  const batch = read(marks[0]?.position ?? null);
  if (batch === undefined) return 0;
  await client.query(insert, toLists(batch));
  await client.query(`UPDATE ${MARK_TABLE} SET position = $2, arrived_rows = arrived_rows + $3 WHERE table_name = $1`, [
    name,
    batch.position,
    batch.rows.length,
  ]);
  return batch.rows.length;
}

async function finish(client: Client, { url, tables }: TargetOptions): Promise<void> {
  await refuseLiving(client, url);
  for (const { name, key, highestNumber } of tables) {
    if (highestNumber === 0n) continue;
    await client.query('SELECT setval(pg_get_serial_sequence($1, $2), $3)', [name, key[0], highestNumber]);
  }
  // The upkeep of a gateway drops the entries of deleted keys and groups, which it finds in this table.
  await client.query(`
    INSERT INTO deleted_keys
    SELECT DISTINCT key FROM ledger WHERE NOT EXISTS (SELECT FROM keys WHERE keys.seq = ledger.key)
      AND NOT EXISTS (SELECT FROM groups WHERE groups.seq = -ledger.key)`);
  await client.query(`UPDATE ${MARK_TABLE} SET finished_at = clock_timestamp()`);
}

interface TableStatements {
  readonly insert: string;
  readonly countEqual: string;
}

async function prepareStatements(
  client: Client,
  tables: readonly SourceTable[],
): Promise<{ of(name: string): TableStatements }> {
  const statements = new Map<string, TableStatements>();
  for (const table of tables) statements.set(table.name, toStatements(table, await readTypes(client, table)));
  return {
    of(name) {
      const found = statements.get(name);
      if (found === undefined) throw new Error(`the table ${name} was not named when the transfer began`);
      return found;
    },
  };
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

function toLists({ rows }: Batch): unknown[][] {
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

async function inTransaction<Result>(client: Client, work: () => Promise<Result>): Promise<Result> {
  await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
  try {
    const result = await work();
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

function explain<Result>(url: string, work: () => Promise<Result>): Promise<Result> {
  return explainFailure({ url, problem: 'cannot be used' }, work);
}
