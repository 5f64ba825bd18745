import type { SharedDatabase } from './database-url.ts';
import type { DatabaseCheck } from './sql/check.ts';
import type { Upgrade } from './rows/migrations.ts';
import * as sqliteCheck from './sqlite/check.ts';
import * as sqliteUpgrade from './sqlite/upgrade.ts';

/** Checks the database and the ledger of every key. Throws StoreOpenError. */
export async function checkDatabase(database: SharedDatabase): Promise<DatabaseCheck> {
  if (database.kind === 'file') return sqliteCheck.checkDatabase(database.path);
  const { checkServer } = await import('./postgres/check.ts');
  return checkServer(database.url);
}

/** Creates the database if it is missing, and runs all migrations. Throws StoreOpenError. */
export async function upgradeDatabase(database: SharedDatabase): Promise<Upgrade> {
  if (database.kind === 'file') return sqliteUpgrade.upgradeDatabase(database.path);
  const { upgradeServer } = await import('./postgres/upgrade.ts');
  return upgradeServer(database.url);
}
