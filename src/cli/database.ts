import { existsSync } from 'node:fs';
import { ConfigError, readConfig, type Config } from '../config/config.ts';
import { findFittingSecret, takeSecret } from '../config/gateway-secret.ts';
import { locateDatabase, type SharedDatabase } from '../store/database-url.ts';
import { connectStore } from '../store/open.ts';
import { readMarking } from '../store/secret-mark.ts';
import { CliError, type CliContext } from './context.ts';

export type OpenStore = Awaited<ReturnType<typeof connectStore>>;

/** Returns the location of the database. Throws CliError for one in memory. */
export function findDatabase({ databaseUrl }: Config): SharedDatabase {
  const location = locateDatabase(databaseUrl);
  if (location.kind !== 'memory') return location;
  throw new CliError('DATABASE_URL is :memory:, so only the gateway itself can read its records.');
}

/** As `findDatabase`. Throws ConfigError for a missing file, which often means the wrong folder. */
export function findExistingDatabase(config: Config): SharedDatabase {
  const database = findDatabase(config);
  if (database.kind === 'file' && !existsSync(database.path)) {
    throw new ConfigError([
      `DATABASE_URL: points to ${database.path}, which does not exist; run this in the folder of the gateway, which creates it when it starts`,
    ]);
  }
  return database;
}

/** As `findExistingDatabase`. Also throws ConfigError for a wrong secret. */
export async function findOwnDatabase(config: Config): Promise<SharedDatabase> {
  const database = findExistingDatabase(config);
  await refuseOtherSecret(config, database);
  return database;
}

/** Throws ConfigError when the secret that is set is not the one of the database. */
export async function refuseOtherSecret(config: Config, database: SharedDatabase): Promise<void> {
  if (config.gatewaySecret !== null) findFittingSecret(config, database, await readMarking(database));
}

export interface OpenedStore {
  readonly store: OpenStore;
  readonly config: Config;
  readonly secret: string | undefined;
}

/**
 * Opens the store, also while a gateway runs, and closes it after `use`. Throws ConfigError without
 * a database or with a wrong secret. `beginsKeys` is for commands that may write the first key.
 */
export async function withStore<Result>(
  { env, nowMs }: CliContext,
  use: (opened: OpenedStore) => Promise<Result>,
  { beginsKeys = false }: { readonly beginsKeys?: boolean } = {},
): Promise<Result> {
  const config = readConfig(env);
  const database = findExistingDatabase(config);
  const marking = await readMarking(database);
  const isNew = marking.mark === undefined && marking.isEmpty;
  const secret = beginsKeys && isNew ? await takeSecret(config) : findFittingSecret(config, database, marking);
  // A command has nothing to do while the database works.
  const store = await connectStore({ ...config, clock: nowMs, isInline: true });
  try {
    return await use({ store, config, secret });
  } finally {
    await store.close();
  }
}
