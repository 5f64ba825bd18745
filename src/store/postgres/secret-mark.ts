import type { Client } from 'pg';
import type { MarkChange, Marking } from '../marking.ts';
import { explainFailure, withClient } from './client.ts';
import { hasTable } from './has-table.ts';
import { migrate } from './migrate.ts';
import type { Statement } from './pool.ts';

export const FIND_MARK: Statement = { name: 'find_mark', text: 'SELECT mark FROM secret_mark' };

/** As `readMarking` of the store, for the database on this server. */
export function readMarking(url: string): Promise<Marking> {
  return use(url, async (client) => ({
    mark: (await hasTable(client, 'secret_mark')) ? await findMark(client) : undefined,
    isEmpty: !(await hasRows(client, 'keys')) && !(await hasRows(client, 'requests')),
  }));
}

/** As `changeMark` of the store, for the database on this server. */
export function changeMark(url: string, { from, to }: MarkChange): Promise<string | undefined> {
  return use(url, async (client) => {
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

function use<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  return explainFailure({ url, problem: 'cannot be used' }, () => withClient(url, work));
}
