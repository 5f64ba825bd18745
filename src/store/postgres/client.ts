import { Client, type PoolConfig } from 'pg';
import { showDatabase } from '../database-url.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { toReason } from './failures.ts';
import { toSlowClientConfig } from './pool.ts';

/** Opens a single connection, for a migration or a command of the operator. */
export async function connect(url: string, config: PoolConfig = {}): Promise<Client> {
  const client = new Client({ ...toSlowClientConfig(url), ...config });
  // The query that waits reports the error.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    await disconnect(client);
    throw error;
  }
}

export async function disconnect(client: Client): Promise<void> {
  await client.end().catch(() => undefined);
}

export async function withClient<Result>(
  url: string,
  use: (client: Client) => Promise<Result>,
  config?: PoolConfig,
): Promise<Result> {
  const client = await connect(url, config);
  try {
    return await use(client);
  } finally {
    await disconnect(client);
  }
}

/** Runs the work. Throws StoreOpenError, a sentence for the operator, when it fails. */
export async function explainFailure<Result>(
  { url, problem }: { readonly url: string; readonly problem: `cannot be ${string}` },
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StoreOpenError) throw error;
    throw new StoreOpenError(`The database ${showDatabase(url)} ${problem}: ${toReason(error)}.`, { cause: error });
  }
}
