import type { Client } from 'pg';
import { showDatabase } from '../database-url.ts';
import {
  describeUnbalanced,
  describeWrongHold,
  SELECT_UNBALANCED,
  SELECT_WRONG_HOLDS,
  type DatabaseCheck,
  type WrongSum,
} from '../rows/check.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { explainFailure, withClient } from './client.ts';
import { listMigrations, MIGRATIONS } from './migrations.ts';
import { toConnection, type Connection, type Statement } from './pool.ts';
import { refuseUnfinishedTransfer } from './unfinished-transfer.ts';

const COUNT: Statement = {
  name: 'count_all',
  text: 'SELECT (SELECT count(*) FROM requests) AS records, (SELECT count(*) FROM keys) AS keys',
};

const FIND_UNBALANCED: Statement = { name: 'find_unbalanced', text: SELECT_UNBALANCED };
const FIND_WRONG_HOLDS: Statement = { name: 'find_wrong_holds', text: SELECT_WRONG_HOLDS };

/** Checks the ledger of every key on this server. Throws StoreOpenError if it cannot be read. */
export function checkServer(url: string): Promise<DatabaseCheck> {
  return explainFailure({ url, problem: 'cannot be read' }, () => withClient(url, (client) => checkVia(client, url)));
}

async function checkVia(client: Client, url: string): Promise<DatabaseCheck> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  const applied = new Set((await listMigrations(client)).map(({ name }) => name));
  if (!MIGRATIONS.every(({ name }) => applied.has(name))) {
    throw new StoreOpenError(
      `The database ${showDatabase(url)} is of an older version; db migrate brings it up to this one.`,
    );
  }
  await refuseUnfinishedTransfer(client);
  const connection = toConnection(client);
  const [counts = { records: 0, keys: 0 }] = await connection.rows<{ readonly records: number; readonly keys: number }>(
    COUNT,
  );
  return { ...counts, problems: await findLedgerProblems(connection) };
}

/** Returns a sentence for each key whose ledger does not add up. */
export async function findLedgerProblems(connection: Connection): Promise<readonly string[]> {
  const unbalanced = await connection.rows<WrongSum>(FIND_UNBALANCED);
  const wrongHolds = await connection.rows<WrongSum>(FIND_WRONG_HOLDS);
  return [...unbalanced.map(describeUnbalanced), ...wrongHolds.map(describeWrongHold)];
}
