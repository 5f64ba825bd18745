import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError, type Client } from 'pg';
import { showDatabase } from '../database-url.ts';
import { refuseNewer, type AppliedMigration, type Upgrade } from '../rows/migrations.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { withClient } from './client.ts';
import { hasTable } from './has-table.ts';
import { listMigrations, MIGRATIONS, type PostgresMigration } from './migrations.ts';
import { refuseUnfinishedTransfer } from './unfinished-transfer.ts';

export interface MigrateOptions {
  readonly migrations?: readonly PostgresMigration[];
}

/** An index of a large table takes many minutes. */
const WITHOUT_LIMIT = { statement_timeout: 0, query_timeout: 0 };

/**
 * Runs the missing migrations, while other gateways go on; only one process at a time does it. A role
 * that may not create tables can still use a database that is ready. Throws StoreOpenError when the
 * database cannot be used.
 */
export async function migrate(url: string, { migrations = MIGRATIONS }: MigrateOptions = {}): Promise<Upgrade> {
  const options = { url, migrations };
  return withClient(url, async (holder) => {
    await refuseReadOnly(holder, url);
    const { applied, missing } = await examine(holder, options);
    if (missing.length === 0) return toUpgrade(applied, missing);
    await takeTurn(holder, url);
    return withClient(url, (client) => run(client, options), WITHOUT_LIMIT);
  });
}

/** "Reqt" and "Reqs": no other program on the same database uses them for a lock. */
const TURN_LOCK = 0x52_65_71_74;
/** Versions without turns take it for all of their migrations. */
const STEP_LOCK = 0x52_65_71_73;

const WITHIN_MS = 10 * 60_000;
const LOOK_EVERY_MS = 100;
const TRY_AGAIN_MS = 1000;

/**
 * Takes a lock until the connection ends, without a wait inside the database: an index that is being
 * built would wait for the snapshot of whoever waits.
 */
async function takeTurn(client: Client, url: string): Promise<void> {
  for (const untilMs = performance.now() + WITHIN_MS; performance.now() < untilMs; await delay(LOOK_EVERY_MS)) {
    await client.query('BEGIN');
    await client.query('SET LOCAL idle_in_transaction_session_timeout = 0');
    // With a parameter it would keep a snapshot.
    const { rows } = await client.query<{ isFree: boolean }>(
      `SELECT pg_try_advisory_xact_lock(${TURN_LOCK}) AS "isFree"`,
    );
    if (rows[0]?.isFree === true) return;
    await client.query('ROLLBACK');
  }
  throw new StoreOpenError(`The database ${showDatabase(url)} is still being migrated by another process.`);
}

interface Options extends Required<MigrateOptions> {
  readonly url: string;
}

interface Examined {
  readonly applied: readonly AppliedMigration[];
  readonly missing: readonly PostgresMigration[];
}

async function examine(client: Client, { url, migrations }: Options): Promise<Examined> {
  const applied = await listMigrations(client);
  refuseNewer(showDatabase(url), applied, migrations);
  await refuseUnfinishedTransfer(client);
  const names = new Set(applied.map(({ name }) => name));
  return { applied, missing: migrations.filter(({ name }) => !names.has(name)) };
}

async function run(client: Client, options: Options): Promise<Upgrade> {
  await prepareList(client);
  const { applied, missing } = await examine(client, options);
  for (const migration of missing) await apply(client, migration, { isNew: applied.length === 0 });
  return toUpgrade(applied, missing);
}

function toUpgrade(applied: readonly AppliedMigration[], missing: readonly PostgresMigration[]): Upgrade {
  const added = missing.map(({ name }) => name);
  return { migrations: [...applied.map(({ name }) => name), ...added], applied: added };
}

async function refuseReadOnly(client: Client, url: string): Promise<void> {
  const { rows } = await client.query<{ standby: boolean; setting: string }>(
    `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') AS setting`,
  );
  const database = `The database ${showDatabase(url)}`;
  if (rows[0]?.standby === true) {
    throw new StoreOpenError(`${database} is a read-only replica: DATABASE_URL must name the primary server.`);
  }
  if (rows[0]?.setting === 'on') {
    throw new StoreOpenError(`${database} is read-only (default_transaction_read_only is on for it, or for the role).`);
  }
}

async function prepareList(client: Client): Promise<void> {
  if (await hasTable(client, 'migrations')) return;
  await client.query(
    'CREATE TABLE migrations (name text PRIMARY KEY, applied_at_ms bigint NOT NULL, runs_beside text)',
  );
}

async function apply(client: Client, migration: PostgresMigration, { isNew }: { isNew: boolean }): Promise<void> {
  const { name, sql, runsBeside, indexes = [] } = migration;
  if (!isNew) for (const index of indexes) await createIndex(client, index);
  const creations = isNew ? indexes.map((index) => `CREATE INDEX ${index};\n`) : [];
  await inTransaction(client, async () => {
    await client.query(creations.join('') + sql);
    await client.query('INSERT INTO migrations (name, applied_at_ms, runs_beside) VALUES ($1, $2, $3)', [
      name,
      Date.now(),
      runsBeside ?? null,
    ]);
  });
}

/** Blocks no writer. What was left by a process that died in the middle is built anew. */
async function createIndex(client: Client, index: string): Promise<void> {
  const [name] = index.split(' ', 1);
  const { rows } = await client.query<{ isValid: boolean }>(
    'SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = to_regclass($1)',
    [name],
  );
  if (rows[0]?.isValid === true) return;
  if (rows.length > 0) await client.query(`DROP INDEX CONCURRENTLY ${name}`);
  await client.query(`CREATE INDEX CONCURRENTLY ${index}`);
}

const LOCK_TIMEOUT = '55P03';

/**
 * A change of a table waits for whoever reads it, such as a dump, and all writers wait behind it. So
 * it gives up within a time that requests can wait, and tries again.
 */
async function inTransaction(client: Client, work: () => Promise<void>): Promise<void> {
  for (const untilMs = performance.now() + WITHIN_MS; ; await delay(TRY_AGAIN_MS)) {
    try {
      await client.query('BEGIN');
      await client.query(`SET LOCAL lock_timeout = '1s'`);
      await client.query('SELECT pg_advisory_xact_lock($1)', [STEP_LOCK]);
      await work();
      await client.query('COMMIT');
      return;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      const isBusy = error instanceof DatabaseError && error.code === LOCK_TIMEOUT;
      if (!isBusy || performance.now() > untilMs) throw error;
    }
  }
}
