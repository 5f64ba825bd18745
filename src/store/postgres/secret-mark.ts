import type { Client } from 'pg';
import type { MarkChange, Marking } from '../marking.ts';
import { NAMES_OF_PREVIOUS } from '../rows/keys.ts';
import { explainFailure, withClient } from './client.ts';
import { hasTable } from './has-table.ts';
import { migrate } from './migrate.ts';
import type { Statement } from './pool.ts';

export const FIND_MARK: Statement = { name: 'find_mark', text: 'SELECT mark FROM secret_mark' };

export function readMarking(url: string): Promise<Marking> {
  return use(url, async (client) => ({
    mark: (await hasTable(client, 'secret_mark')) ? await findMark(client) : undefined,
    isEmpty: !(await hasRows(client, 'keys')) && !(await hasRows(client, 'requests')),
    keysOfPrevious: await listKeysOfPrevious(client),
  }));
}

export function changeMark(url: string, { from, to, givesUp = false }: MarkChange): Promise<string | undefined> {
  return use(url, async (client) => {
    await migrate(url);
    await client.query('BEGIN');
    await client.query(
      `INSERT INTO secret_mark (id, mark) VALUES (1, $1)
       ON CONFLICT (id) DO UPDATE SET mark = excluded.mark WHERE secret_mark.mark = $2`,
      [to, from ?? null],
    );
    const mark = await findMark(client);
    // Until now all keys whose mark is not known were known by the former secret.
    if (mark === to && givesUp) await client.query('UPDATE keys SET mark = NULL');
    else if (mark === to && from !== undefined)
      await client.query('UPDATE keys SET mark = $1 WHERE mark IS NULL', [from]);
    await client.query('COMMIT');
    return mark;
  });
}

async function findMark(client: Client): Promise<string | undefined> {
  const { rows } = await client.query<{ mark: string }>(FIND_MARK.text);
  return rows[0]?.mark;
}

async function listKeysOfPrevious(client: Client): Promise<readonly string[]> {
  const { rows: columns } = await client.query(
    "SELECT FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = 'keys' AND column_name = 'mark'",
  );
  if (columns.length === 0) return [];
  const { rows } = await client.query<{ name: string }>(NAMES_OF_PREVIOUS);
  return rows.map(({ name }) => name);
}

async function hasRows(client: Client, table: 'keys' | 'requests'): Promise<boolean> {
  if (!(await hasTable(client, table))) return false;
  const { rows } = await client.query(`SELECT FROM ${table} LIMIT 1`);
  return rows.length > 0;
}

function use<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  return explainFailure({ url, problem: 'cannot be used' }, () => withClient(url, work));
}
