import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { AT_ONCE_MS } from './time.ts';

export interface TestDatabase {
  readonly url: string;
  /** Runs this SQL in the database, behind the back of all stores. */
  run(sql: string): Promise<readonly unknown[]>;
  /** Empties all tables but those of the migrations and the owners. */
  empty(): Promise<void>;
  /** As if all processes but the living ones had been silent for long. */
  age(): Promise<void>;
  drop(): Promise<void>;
}

/** Where Debian's PostgreSQL listens, and whom it may trust. */
const LOCAL = [
  'postgres://postgres@127.0.0.1:5432/postgres',
  'postgres://root@127.0.0.1:5432/root',
  'postgres://root@127.0.0.1:5432/test',
];

/**
 * The URL of a server on which databases may be made: TEST_POSTGRES_URL, or one that runs on this machine. Undefined, after
 * a line which says so, when there is none.
 */
export async function findPostgres(): Promise<string | undefined> {
  const given = process.env['TEST_POSTGRES_URL'];
  // Not looked at here: where one was asked for, it must work.
  if (given !== undefined) return given;
  const url = await findLocalPostgres();
  if (url === undefined) {
    console.log('  not run, since no PostgreSQL was found (TEST_POSTGRES_URL): the tests of the store on PostgreSQL');
  }
  return url;
}

/** The URL of a server that runs on this machine and lets us make databases; undefined when there is none. */
export async function findLocalPostgres(): Promise<string | undefined> {
  for (const url of LOCAL) if (await mayCreate(url)) return url;
  return undefined;
}

async function mayCreate(url: string): Promise<boolean> {
  try {
    const [row] = await runOn(url, 'SELECT rolcreatedb OR rolsuper AS may FROM pg_roles WHERE rolname = current_user');
    return (row as { may: boolean } | undefined)?.may === true;
  } catch {
    return false;
  }
}

/**
 * Makes a database of its own on this server. Its commits do not wait for the disk, since the server outlives the test; a
 * test that crashes the server asks for one `isSynced`.
 */
export async function createTestDatabase(serverUrl: string, { isSynced = false } = {}): Promise<TestDatabase> {
  const name = `gateway_test_${randomBytes(6).toString('hex')}`;
  await runOn(serverUrl, `CREATE DATABASE ${name}`);
  if (!isSynced) await runOn(serverUrl, `ALTER DATABASE ${name} SET synchronous_commit = off`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const run = (sql: string) => runOn(url.href, sql);
  return {
    url: url.href,
    run,
    async empty() {
      // Cheaper than TRUNCATE for as few rows as a test leaves.
      await run(
        [
          'requests',
          'keys',
          'groups',
          'ledger',
          'usage',
          'group_usage',
          'deleted_keys',
          'alerts',
          'charged_currency',
          'usage_rollups',
          'usage_sums',
          'request_stats',
        ]
          .map((table) => `DELETE FROM ${table};`)
          .join(' '),
      );
    },
    async age() {
      await run(`UPDATE owners SET seen_at = '-infinity'`);
    },
    async drop() {
      await runOn(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function runOn(url: string, sql: string): Promise<readonly unknown[]> {
  // A session which may write, whatever the default of the database is by now.
  const options = '-c default_transaction_read_only=off';
  const client = new Client({ connectionString: url, connectionTimeoutMillis: AT_ONCE_MS, options });
  try {
    await client.connect();
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
