import type { Client } from 'pg';
import { StoreOpenError } from '../../core/books/store.ts';
import { hasTable } from './has-table.ts';

/** Earlier versions committed a transfer in parts, and noted here which tables were whole. */
const MARK_TABLE = 'sqlite_transfer';

/** Throws StoreOpenError while the database may have only a part of the rows. */
export async function refuseUnfinishedTransfer(client: Client): Promise<void> {
  if (!(await hasTable(client, MARK_TABLE))) return;
  const { rows } = await client.query(`SELECT FROM ${MARK_TABLE} WHERE finished_at IS NULL LIMIT 1`);
  if (rows.length === 0) return;
  throw new StoreOpenError(
    'The database holds a part of another one, from a db migrate of an earlier version that was interrupted. Transfer into an empty one.',
  );
}
