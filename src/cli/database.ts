import { existsSync } from 'node:fs';
import { readConfig, type Config } from '../config.ts';
import { locateDatabase, showDatabase, type SharedDatabase } from '../store/database-url.ts';
import { connectStore } from '../store/open.ts';
import { CliError, type CliContext } from './context.ts';

export type OpenStore = Awaited<ReturnType<typeof connectStore>>;

/** Where the database is. Throws CliError for one in memory, which no other process can see. */
export function findDatabase({ databaseUrl }: Pick<Config, 'databaseUrl'>): SharedDatabase {
  const location = locateDatabase(databaseUrl);
  if (location.kind !== 'memory') return location;
  throw new CliError('DATABASE_URL is :memory:, so the records are in the memory of the gateway alone.');
}

/** As it may be shown: the path of a file, or a server without its password. */
export function nameDatabase(database: SharedDatabase): string {
  return database.kind === 'file' ? database.path : showDatabase(database.url);
}

/**
 * Opens the store which the gateway uses, also beside a running one, and closes it again. A database that is missing is an
 * error, since it is more often a wrong folder than a new gateway; `mayCreate` is for the commands which begin one.
 */
export async function withStore<Result>(
  { env, nowMs }: CliContext,
  use: (opened: { readonly store: OpenStore; readonly config: Config }) => Promise<Result>,
  { mayCreate = false }: { readonly mayCreate?: boolean } = {},
): Promise<Result> {
  const config = readConfig(env);
  const database = findDatabase(config);
  if (!mayCreate && database.kind === 'file' && !existsSync(database.path)) {
    throw new CliError(
      `There is no database ${database.path} (DATABASE_URL); the gateway makes it at its first start.`,
    );
  }
  const store = await connectStore({ ...config, clock: nowMs });
  try {
    return await use({ store, config });
  } finally {
    await store.close();
  }
}
