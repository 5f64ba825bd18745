import { Client } from 'pg';
import { showDatabase } from '../database-url.ts';
import type { MarkChange, Marking } from '../secret-mark.ts';
import { StoreOpenError } from '../store.ts';
import { toReason } from './failures.ts';
import { hasTable } from './has-table.ts';
import { migrate } from './migrations.ts';
import { toSlowClientConfig, type Statement } from './pool.ts';

export const FIND_MARK: Statement = { name: 'find_mark', text: 'SELECT mark FROM secret_mark' };

/** As `readMarking` of the store, for the database on this server. */
export function readMarking(url: string): Promise<Marking> {
  return withClient(url, async (client) => ({
    mark: (await hasTable(client, 'secret_mark')) ? await findMark(client) : undefined,
    isEmpty: !(await hasRows(client, 'keys')) && !(await hasRows(client, 'requests')),
  }));
}

/** As `changeMark` of the store, for the database on this server. */
export function changeMark(url: string, { from, to }: MarkChange): Promise<string | undefined> {
  return withClient(url, async (client) => {
    await migrate(url);
    await client.query(
      `INSERT INTO secret_mark (id, mark) VALUES (1, $1)
       ON CONFLICT (id) DO UPDATE SET mark = excluded.mark WHERE secret_mark.mark = $2`,
      [to, from ?? null],
    );
    return findMark(client);
  });
}

async function findMark(client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ mark: string }>(FIND_MARK.text);
  return rows[0]?.mark;
}

async function hasRows(client: Client, table: 'keys' | 'requests'): Promise<boolean> {
  if (!(await hasTable(client, table))) return false;
  const { rows } = await client.query(`SELECT FROM ${table} LIMIT 1`);
  return rows.length > 0;
}

async function withClient<Result>(url: string, use: (client: Client) => Promise<Result>): Promise<Result> {
  const client = new Client(toSlowClientConfig(url));
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await use(client);
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    throw new StoreOpenError(`The database ${showDatabase(url)} cannot be used: ${toReason(error)}.`, { cause: error });
  } finally {
    await client.end().catch(() => undefined);
  }
}
