import type { Client } from 'pg';
import { showDatabase } from '../database-url.ts';
import { checkLedger, type DatabaseCheck } from '../sql/check.ts';
import { refuseOlder } from '../rows/migrations.ts';
import { explainFailure, withClient } from './client.ts';
import { listMigrations, MIGRATIONS } from './migrations.ts';
import { toConnection } from './pool.ts';
import { runToEnd } from './steps.ts';
import { refuseUnfinishedTransfer } from './unfinished-transfer.ts';

/** Checks the ledger of every key on this server. Throws StoreOpenError if it cannot be read. */
export function checkServer(url: string): Promise<DatabaseCheck> {
  return explainFailure({ url, problem: 'cannot be read' }, () => withClient(url, (client) => checkVia(client, url)));
}

async function checkVia(client: Client, url: string): Promise<DatabaseCheck> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  refuseOlder(showDatabase(url), await listMigrations(client), MIGRATIONS);
  await refuseUnfinishedTransfer(client);
  return runToEnd(toConnection(client), checkLedger());
}
