/** What the operator does with a whole database, a file or on a server, also beside running gateways. */
import type { SharedDatabase } from './database-url.ts';
import type { DatabaseCheck } from './shared/check.ts';
import type { Upgrade } from './shared/migrations.ts';
import * as sqliteCheck from './sqlite/check.ts';
import * as sqliteUpgrade from './sqlite/upgrade.ts';

/** Reads all of it: whether it is sound, and whether the books of every key add up. Throws StoreOpenError. */
export async function checkDatabase(database: SharedDatabase): Promise<DatabaseCheck> {
  if (database.kind === 'file') return sqliteCheck.checkDatabase(database.path);
  const { checkServer } = await import('./postgres/check.ts');
  return checkServer(database.url);
}

/** As `checkDatabase`, of the ledgers alone. */
export async function checkLedgers(database: SharedDatabase): Promise<Omit<DatabaseCheck, 'records'>> {
  return database.kind === 'file' ? sqliteCheck.checkLedgers(database.path) : checkDatabase(database);
}

/** Makes what is missing and brings it up to this program. Throws StoreOpenError. */
export async function upgradeDatabase(database: SharedDatabase): Promise<Upgrade> {
  if (database.kind === 'file') return sqliteUpgrade.upgradeDatabase(database.path);
  const { upgradeServer } = await import('./postgres/upgrade.ts');
  return upgradeServer(database.url);
}
