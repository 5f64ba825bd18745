import type { Client } from 'pg';
import { showDatabase } from '../database-url.ts';
import type { SourceTable, TransferState } from './plan.ts';
import { StoreOpenError } from '../store.ts';
import { hasTable } from '../postgres/has-table.ts';
import { DEAD_AFTER_S } from '../postgres/owners.ts';
import { isSameSource, MARK_TABLE, readMarks } from './postgres-mark.ts';

export interface TargetOptions {
  readonly url: string;
  readonly tables: readonly SourceTable[];
}

/** Returns what a transfer would find. Throws StoreOpenError with the obstacle. */
export async function examineTarget(client: Client, { url, tables }: TargetOptions): Promise<TransferState> {
  const marks = await readMarks(client);
  if (marks === undefined) {
    await refuseLiving(client, url);
    await refuseOccupied(client, { url, tables });
    return 'new';
  }
  const isFinished = marks.every(({ isFinished }) => isFinished);
  if (isSameSource(marks, tables)) {
    if (!isFinished) await refuseLiving(client, url);
    return isFinished ? 'finished' : 'unfinished';
  }
  throw new StoreOpenError(
    isFinished
      ? `${showDatabase(url)} was filled by a transfer that has ended, from another database or an earlier state of this one.`
      : `${showDatabase(url)} holds an unfinished transfer, from another database or an earlier state of this one; --restart throws that away and begins anew.`,
  );
}

/** Empties the tables of an unfinished transfer; does nothing where there is none. */
export async function forgetUnfinished(client: Client, { tables }: TargetOptions): Promise<void> {
  const marks = await readMarks(client);
  if (marks === undefined || marks.every(({ isFinished }) => isFinished)) return;
  await client.query(`TRUNCATE ${tables.map(({ name }) => name).join(', ')}`);
  await client.query(`DROP TABLE ${MARK_TABLE}`);
}

/** Throws StoreOpenError while a gateway or a command uses the database. */
export async function refuseLiving(client: Client, url: string): Promise<void> {
  if (!(await hasTable(client, 'owners'))) return;
  const { rows } = await client.query(
    `SELECT FROM owners WHERE seen_at > clock_timestamp() - interval '${DEAD_AFTER_S} seconds' LIMIT 1`,
  );
  if (rows.length === 0) return;
  throw new StoreOpenError(
    `${showDatabase(url)} is in use by a gateway, or was within the last ${DEAD_AFTER_S} seconds; stop it first.`,
  );
}

async function refuseOccupied(client: Client, { url, tables }: TargetOptions): Promise<void> {
  const found: string[] = [];
  for (const { name } of tables) {
    // A gateway that was started too early may have marked it. The mark of the source wins.
    if (name === 'secret_mark' || !(await hasTable(client, name))) continue;
    const { rows } = await client.query<{ count: string }>(`SELECT count(*)::text AS count FROM ${name}`);
    const count = rows[0]?.count ?? '0';
    if (count !== '0') found.push(`${count} rows in ${name}`);
  }
  if (found.length === 0) return;
  throw new StoreOpenError(`${showDatabase(url)} is not empty: it has ${found.join(', ')}.`);
}

/** Returns the types of the columns here. Throws StoreOpenError when one is missing. */
export async function readTypes(client: Client, { name, columns }: SourceTable): Promise<readonly string[]> {
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
