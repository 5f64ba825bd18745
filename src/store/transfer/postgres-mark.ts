/** One row for each table. The rows stay, so that a repeated command finds nothing to do. */
import type { Client } from 'pg';
import type { SourceTable } from './plan.ts';
import { StoreOpenError } from '../store.ts';
import { hasTable } from '../postgres/has-table.ts';

export const MARK_TABLE = 'sqlite_transfer';

export interface Mark {
  readonly name: string;
  readonly sourceRows: string;
  readonly sourceLastPosition: string | null;
  readonly isFinished: boolean;
}

/** Undefined when there was never a transfer into this database. */
export async function readMarks(client: Client): Promise<readonly Mark[] | undefined> {
  if (!(await hasTable(client, MARK_TABLE))) return undefined;
  const { rows } = await client.query<Mark>(`
    SELECT table_name AS name, source_rows::text AS "sourceRows", source_last_position AS "sourceLastPosition",
      finished_at IS NOT NULL AS "isFinished"
    FROM ${MARK_TABLE}`);
  return rows;
}

export async function createMarks(client: Client, tables: readonly SourceTable[]): Promise<void> {
  await client.query(`
    CREATE TABLE ${MARK_TABLE} (
      table_name text PRIMARY KEY,
      source_rows bigint NOT NULL,
      source_last_position text,
      arrived_rows bigint NOT NULL DEFAULT 0,
      position text,
      finished_at timestamptz
    )`);
  for (const { name, rows, lastPosition } of tables) {
    await client.query(
      `INSERT INTO ${MARK_TABLE} (table_name, source_rows, source_last_position) VALUES ($1, $2, $3)`,
      [name, rows, lastPosition],
    );
  }
}

/** True when the counts and the last rows of the tables are those of the marks. */
export function isSameSource(marks: readonly Mark[], tables: readonly SourceTable[]): boolean {
  const known = new Map(marks.map((mark) => [mark.name, mark]));
  return (
    marks.length === tables.length &&
    tables.every(({ name, rows, lastPosition }) => {
      const mark = known.get(name);
      return mark?.sourceRows === String(rows) && mark.sourceLastPosition === lastPosition;
    })
  );
}

/** Throws StoreOpenError while the database may have only a part of the rows. */
export async function refuseUnfinishedTransfer(client: Client): Promise<void> {
  const marks = await readMarks(client);
  if (marks === undefined || marks.every(({ isFinished }) => isFinished)) return;
  throw new StoreOpenError(
    'The database holds a part of another one: db migrate was interrupted, or still runs. Let it come to its end.',
  );
}
