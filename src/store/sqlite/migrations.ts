import type { Database } from 'better-sqlite3';
import { findUnknown, type AppliedMigration, type Migration } from '../rows/migrations.ts';
import { StoreOpenError } from '../store.ts';

/** Append only, because each migration has run somewhere. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: '0001_requests',
    // `caller`, `idempotency_key` and `body` are HMACs. The key is empty when there is none, or
    // when it was freed. Final rows have no owner, so the index on owners stays small.
    sql: `
      CREATE TABLE requests (
        seq INTEGER PRIMARY KEY,
        request_id TEXT NOT NULL UNIQUE,
        caller TEXT NOT NULL,
        owner TEXT,
        endpoint TEXT NOT NULL,
        model TEXT NOT NULL,
        stream INTEGER NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('processing', 'succeeded', 'failed', 'cancelled')),
        created_at_ms INTEGER NOT NULL,
        completed_at_ms INTEGER,
        cancel_requested_at_ms INTEGER,
        estimated_input_tokens INTEGER NOT NULL,
        input_tokens INTEGER,
        cached_tokens INTEGER,
        output_tokens INTEGER,
        reasoning_tokens INTEGER,
        total_tokens INTEGER,
        usage_estimated INTEGER NOT NULL DEFAULT 0,
        cost_micro INTEGER,
        incomplete_reason TEXT,
        error_code TEXT,
        idempotency_key TEXT,
        body TEXT,
        CHECK ((status = 'processing') = (owner IS NOT NULL)),
        CHECK ((status = 'processing') = (completed_at_ms IS NULL)),
        CHECK (idempotency_key IS NULL OR body IS NOT NULL)
      ) STRICT;
      CREATE INDEX requests_by_caller ON requests (caller);
      CREATE UNIQUE INDEX requests_by_idempotency_key ON requests (caller, idempotency_key, body)
        WHERE idempotency_key IS NOT NULL;
      CREATE INDEX requests_by_owner ON requests (owner) WHERE owner IS NOT NULL;
      CREATE INDEX requests_by_completion ON requests (completed_at_ms) WHERE completed_at_ms IS NOT NULL;
      CREATE TABLE write_probes (id INTEGER PRIMARY KEY, filler BLOB NOT NULL) STRICT;
    `,
  },
  {
    name: '0002_accounts',
    // References to a key use its `seq`, which is never reused. `day` and `month` count from 1970
    // and from year 0; they belong to the latest charge.
    sql: `
      CREATE TABLE keys (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        key_id TEXT NOT NULL UNIQUE,
        hash TEXT NOT NULL UNIQUE,
        former_hash TEXT UNIQUE,
        former_until_ms INTEGER,
        prefix TEXT NOT NULL,
        name TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL,
        expires_at_ms INTEGER,
        is_disabled INTEGER NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
        models TEXT CHECK (json_valid(models)),
        requests_per_minute INTEGER CHECK (requests_per_minute >= 0),
        tokens_per_minute INTEGER CHECK (tokens_per_minute >= 0),
        spend_per_day_micro INTEGER CHECK (spend_per_day_micro BETWEEN 0 AND 9007199254740991),
        spend_per_month_micro INTEGER CHECK (spend_per_month_micro BETWEEN 0 AND 9007199254740991),
        balance_micro INTEGER CHECK (abs(balance_micro) <= 9007199254740991),
        held_micro INTEGER NOT NULL DEFAULT 0 CHECK (held_micro BETWEEN 0 AND 9007199254740991),
        day INTEGER NOT NULL DEFAULT 0,
        day_spent_micro INTEGER NOT NULL DEFAULT 0 CHECK (day_spent_micro BETWEEN 0 AND 9007199254740991),
        month INTEGER NOT NULL DEFAULT 0,
        month_spent_micro INTEGER NOT NULL DEFAULT 0 CHECK (month_spent_micro BETWEEN 0 AND 9007199254740991),
        CHECK ((former_hash IS NULL) = (former_until_ms IS NULL))
      ) STRICT;
      CREATE TABLE ledger (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        key INTEGER NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('grant', 'adjust', 'reserve', 'release', 'settle', 'carry')),
        amount_micro INTEGER NOT NULL CHECK (abs(amount_micro) <= 9007199254740991),
        request_id TEXT,
        note TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX ledger_by_key ON ledger (key);
      CREATE TABLE usage (
        hour INTEGER NOT NULL,
        caller TEXT NOT NULL,
        model TEXT NOT NULL,
        requests INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        cancelled INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        reasoning_tokens INTEGER NOT NULL,
        cost_micro INTEGER NOT NULL,
        duration_ms INTEGER NOT NULL,
        PRIMARY KEY (hour, caller, model)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX usage_by_caller ON usage (caller, hour);
      ALTER TABLE requests ADD COLUMN key INTEGER;
      ALTER TABLE requests ADD COLUMN held_micro INTEGER CHECK (held_micro BETWEEN 0 AND 9007199254740991);
      ALTER TABLE requests ADD COLUMN interrupted_cost_micro INTEGER;
    `,
  },
  {
    name: '0003_ledger_references',
    sql: `
      ALTER TABLE ledger ADD COLUMN reference TEXT;
      CREATE UNIQUE INDEX ledger_by_reference ON ledger (key, reference) WHERE reference IS NOT NULL;
    `,
  },
  {
    name: '0004_rates',
    runsBeside: '0003_ledger_references',
    // The counts belong to the latest minute with a request; `minute` counts from 1970.
    sql: `
      ALTER TABLE keys ADD COLUMN minute INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE keys ADD COLUMN minute_requests INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE keys ADD COLUMN minute_tokens INTEGER NOT NULL DEFAULT 0;
    `,
  },
  {
    name: '0005_secret_mark',
    runsBeside: '0003_ledger_references',
    // One row at most: an HMAC of a constant, which identifies the secret of the other HMACs.
    sql: `
      CREATE TABLE secret_mark (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        mark TEXT NOT NULL
      ) STRICT;
    `,
  },
  {
    name: '0006_lists',
    runsBeside: '0003_ledger_references',
    // Lists go by the id, which has the time, so an index serves pages, spans of time and ids of
    // records that are gone. Successes are not in the partial indexes: most records succeed.
    sql: `
      CREATE INDEX requests_of_caller ON requests (caller, request_id);
      CREATE INDEX requests_of_caller_by_model ON requests (caller, model, request_id);
      CREATE INDEX requests_of_caller_by_status ON requests (caller, status, request_id)
        WHERE status NOT IN ('processing', 'succeeded');
      CREATE INDEX requests_of_caller_by_error ON requests (caller, error_code, request_id)
        WHERE error_code IS NOT NULL;
      CREATE INDEX requests_by_model ON requests (model, request_id);
      CREATE INDEX requests_by_status ON requests (status, request_id) WHERE status NOT IN ('processing', 'succeeded');
      CREATE INDEX requests_by_error ON requests (error_code, request_id) WHERE error_code IS NOT NULL;
      DROP INDEX requests_by_caller;
    `,
  },
  {
    name: '0007_accepted_callers',
    runsBeside: '0003_ledger_references',
    // HMACs of keys that the backend has accepted.
    sql: `
      CREATE TABLE accepted_callers (
        caller TEXT PRIMARY KEY,
        accepted_at_ms INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX accepted_callers_by_time ON accepted_callers (accepted_at_ms);
    `,
  },
  {
    name: '0008_confirmed',
    runsBeside: '0003_ledger_references',
    // 0 while another process asks the owner whether an unfinished request runs, 1 when it does.
    sql: 'ALTER TABLE requests ADD COLUMN confirmed INTEGER',
  },
  {
    name: '0009_cache_writes',
    runsBeside: '0003_ledger_references',
    sql: `
      ALTER TABLE requests ADD COLUMN cache_write_tokens INTEGER;
      ALTER TABLE usage ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
    `,
  },
  {
    name: '0010_upstream',
    runsBeside: '0003_ledger_references',
    sql: 'ALTER TABLE requests ADD COLUMN upstream TEXT',
  },
  {
    name: '0011_groups',
    runsBeside: '0003_ledger_references',
    // The ledger has the entries of a group under its number with a minus. Usage by group is a table of
    // its own, since a key can move.
    sql: `
      CREATE TABLE groups (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        group_id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL UNIQUE,
        created_at_ms INTEGER NOT NULL,
        expires_at_ms INTEGER,
        is_disabled INTEGER NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
        models TEXT CHECK (json_valid(models)),
        requests_per_minute INTEGER CHECK (requests_per_minute >= 0),
        tokens_per_minute INTEGER CHECK (tokens_per_minute >= 0),
        spend_per_day_micro INTEGER CHECK (spend_per_day_micro BETWEEN 0 AND 9007199254740991),
        spend_per_month_micro INTEGER CHECK (spend_per_month_micro BETWEEN 0 AND 9007199254740991),
        balance_micro INTEGER CHECK (abs(balance_micro) <= 9007199254740991),
        held_micro INTEGER NOT NULL DEFAULT 0 CHECK (held_micro BETWEEN 0 AND 9007199254740991),
        day INTEGER NOT NULL DEFAULT 0,
        day_spent_micro INTEGER NOT NULL DEFAULT 0 CHECK (day_spent_micro BETWEEN 0 AND 9007199254740991),
        month INTEGER NOT NULL DEFAULT 0,
        month_spent_micro INTEGER NOT NULL DEFAULT 0 CHECK (month_spent_micro BETWEEN 0 AND 9007199254740991),
        minute INTEGER NOT NULL DEFAULT 0,
        minute_requests INTEGER NOT NULL DEFAULT 0,
        minute_tokens INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE TABLE group_usage (
        group_id TEXT NOT NULL,
        hour INTEGER NOT NULL,
        caller TEXT NOT NULL,
        model TEXT NOT NULL,
        requests INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        cancelled INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        cached_tokens INTEGER NOT NULL,
        cache_write_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        reasoning_tokens INTEGER NOT NULL,
        cost_micro INTEGER NOT NULL,
        duration_ms INTEGER NOT NULL,
        PRIMARY KEY (group_id, hour, caller, model)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX group_usage_by_hour ON group_usage (hour);
      ALTER TABLE keys ADD COLUMN group_id TEXT REFERENCES groups (group_id);
      CREATE INDEX keys_by_group ON keys (group_id);
      CREATE INDEX keys_by_name ON keys (name);
      ALTER TABLE requests ADD COLUMN group_id TEXT;
      CREATE INDEX requests_of_group ON requests (group_id, request_id) WHERE group_id IS NOT NULL;
    `,
  },
  {
    name: '0012_alerts',
    runsBeside: '0003_ledger_references',
    // Credits that are there already count from now on. `funded_micro` is the balance after the last
    // grant, with what was held then.
    sql: `
      CREATE TABLE alerts (
        subject TEXT PRIMARY KEY,
        period TEXT NOT NULL,
        level INTEGER NOT NULL,
        claimed_at_ms INTEGER NOT NULL
      ) STRICT;
      ALTER TABLE keys ADD COLUMN funded_micro INTEGER;
      ALTER TABLE keys ADD COLUMN funded_at_ms INTEGER;
      ALTER TABLE groups ADD COLUMN funded_micro INTEGER;
      ALTER TABLE groups ADD COLUMN funded_at_ms INTEGER;
      UPDATE keys SET funded_micro = balance_micro + held_micro, funded_at_ms = created_at_ms
        WHERE balance_micro IS NOT NULL;
      UPDATE groups SET funded_micro = balance_micro + held_micro, funded_at_ms = created_at_ms
        WHERE balance_micro IS NOT NULL;
    `,
  },
  {
    name: '0013_usage_rollups',
    runsBeside: '0003_ledger_references',
    // Sums of usage over whole days. `start` and `until` are hours from 1970. A rollup is not current
    // once its usage has changed.
    sql: `
      CREATE TABLE usage_rollups (
        kind TEXT NOT NULL,
        start INTEGER NOT NULL,
        hours INTEGER NOT NULL,
        until INTEGER NOT NULL,
        is_current INTEGER NOT NULL,
        PRIMARY KEY (kind, start, hours)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX usage_rollups_by_end ON usage_rollups (until);
      CREATE TABLE usage_sums (
        kind TEXT NOT NULL,
        start INTEGER NOT NULL,
        hours INTEGER NOT NULL,
        group_id TEXT NOT NULL,
        name TEXT NOT NULL,
        requests INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        cancelled INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL,
        cost_micro INTEGER NOT NULL,
        duration_ms INTEGER NOT NULL,
        PRIMARY KEY (kind, start, hours, group_id, name)
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    name: '0014_request_stats',
    runsBeside: '0003_ledger_references',
    // How long requests took and which were refused: `scope` is a caller, a group or empty for all, `start`
    // is in hours from 1970, and `counts` are in JSON.
    sql: `
      CREATE TABLE request_stats (
        scope TEXT NOT NULL,
        per TEXT NOT NULL,
        start INTEGER NOT NULL,
        model TEXT NOT NULL,
        counts TEXT NOT NULL,
        PRIMARY KEY (scope, per, start, model)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX request_stats_by_time ON request_stats (per, start);
    `,
  },
  {
    name: '0015_key_marks',
    runsBeside: '0003_ledger_references',
    // The mark of the secret under which the hash lies; null is not known.
    sql: 'ALTER TABLE keys ADD COLUMN mark TEXT;',
  },
];

/**
 * Runs the missing migrations once, also when processes start together. Throws StoreOpenError when
 * the database has a migration that this program must know and does not.
 */
export function migrate(database: Database, migrations: readonly Migration[]): void {
  const run = database.transaction(() => {
    database.exec(
      'CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at_ms INTEGER NOT NULL) STRICT',
    );
    addRunsBeside(database);
    const found = listApplied(database);
    const applied = new Set(found.map(({ name }) => name));
    const record = database.prepare<[string, number, string | null]>(
      'INSERT INTO migrations (name, applied_at_ms, runs_beside) VALUES (?, ?, ?)',
    );
    refuseNewer(database, found, migrations);
    for (const { name, sql, runsBeside } of migrations.filter((migration) => !applied.has(migration.name))) {
      database.exec(sql);
      record.run(name, Date.now(), runsBeside ?? null);
    }
  });
  run.immediate();
}

function refuseNewer(database: Database, applied: readonly AppliedMigration[], migrations: readonly Migration[]): void {
  const unknown = findUnknown(applied, migrations);
  if (unknown === undefined) return;
  throw new StoreOpenError(
    `The database ${database.name} was written by a newer version of this program (it has ${JSON.stringify(unknown)}).`,
  );
}

/**
 * Throws StoreOpenError unless the migrations are those of this program, or newer ones allow it.
 */
export function refuseOtherVersion(database: Database): void {
  const applied = listApplied(database);
  refuseNewer(database, applied, MIGRATIONS);
  const names = new Set(applied.map(({ name }) => name));
  if (MIGRATIONS.every(({ name }) => names.has(name))) return;
  throw new StoreOpenError(
    `The database ${database.name} is of an older version; db migrate brings it up to this one.`,
  );
}

/** The first versions lack it. A migration cannot add it, because it is in their list. */
function addRunsBeside(database: Database): void {
  if (!hasRunsBeside(database)) database.exec('ALTER TABLE migrations ADD COLUMN runs_beside TEXT');
}

function hasRunsBeside(database: Database): boolean {
  const columns = database.prepare<[], string>(`SELECT name FROM pragma_table_info('migrations')`).pluck().all();
  return columns.includes('runs_beside');
}

function listApplied(database: Database): readonly AppliedMigration[] {
  const isNew = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get() === undefined;
  if (isNew) return [];
  const runsBeside = hasRunsBeside(database) ? 'runs_beside' : 'NULL';
  return database
    .prepare<[], AppliedMigration>(`SELECT name, ${runsBeside} AS runsBeside FROM migrations ORDER BY name`)
    .all();
}

/** Returns the names of the migrations that have run on this database, in order. */
export function listMigrations(database: Database): readonly string[] {
  return listApplied(database).map(({ name }) => name);
}
