import type { Client } from 'pg';
import { showDatabase } from '../database-url.ts';
import { findUnknown, type AppliedMigration, type Migration } from '../rows/migrations.ts';
import { StoreOpenError } from '../store.ts';
import { hasTable } from './has-table.ts';

export interface PostgresMigration extends Migration {
  /** Made before the step, without holding up writers: the name, `ON` and what follows. */
  readonly indexes?: readonly string[];
}

/** Append only. A name is that of the SQLite migration of the same subject. */
export const MIGRATIONS: readonly PostgresMigration[] = [
  {
    name: '0001_requests',
    // Unlike on SQLite, each running process has a row in `owners`, so that no record can be
    // accepted for an owner that was given up. `seq` has gaps.
    sql: `
      CREATE TABLE owners (
        owner text PRIMARY KEY,
        seen_at timestamptz NOT NULL
      );
      CREATE TABLE requests (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        request_id text NOT NULL UNIQUE,
        caller text NOT NULL,
        owner text REFERENCES owners,
        endpoint text NOT NULL,
        model text NOT NULL,
        stream smallint NOT NULL,
        status text NOT NULL CHECK (status IN ('processing', 'succeeded', 'failed', 'cancelled')),
        created_at_ms bigint NOT NULL,
        completed_at_ms bigint,
        cancel_requested_at_ms bigint,
        estimated_input_tokens bigint NOT NULL,
        input_tokens bigint,
        cached_tokens bigint,
        output_tokens bigint,
        reasoning_tokens bigint,
        total_tokens bigint,
        usage_estimated smallint NOT NULL DEFAULT 0,
        cost_micro bigint,
        incomplete_reason text,
        error_code text,
        idempotency_key text,
        body text,
        CHECK ((status = 'processing') = (owner IS NOT NULL)),
        CHECK ((status = 'processing') = (completed_at_ms IS NULL)),
        CHECK (idempotency_key IS NULL OR body IS NOT NULL)
      );
      CREATE INDEX requests_by_caller ON requests (caller, seq);
      CREATE UNIQUE INDEX requests_by_idempotency_key ON requests (caller, idempotency_key, body)
        WHERE idempotency_key IS NOT NULL;
      CREATE INDEX requests_by_owner ON requests (owner) WHERE owner IS NOT NULL;
      CREATE INDEX requests_by_completion ON requests (completed_at_ms) WHERE completed_at_ms IS NOT NULL;
      CREATE TABLE write_probes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
    `,
  },
  {
    name: '0002_accounts',
    // The ledger of a deleted key is dropped in small steps; until then `deleted_keys` has its
    // number.
    sql: `
      CREATE TABLE keys (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key_id text NOT NULL UNIQUE,
        hash text NOT NULL UNIQUE,
        former_hash text UNIQUE,
        former_until_ms bigint,
        prefix text NOT NULL,
        name text NOT NULL,
        created_at_ms bigint NOT NULL,
        expires_at_ms bigint,
        is_disabled smallint NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
        models text,
        requests_per_minute bigint CHECK (requests_per_minute >= 0),
        tokens_per_minute bigint CHECK (tokens_per_minute >= 0),
        spend_per_day_micro bigint CHECK (spend_per_day_micro BETWEEN 0 AND 9007199254740991),
        spend_per_month_micro bigint CHECK (spend_per_month_micro BETWEEN 0 AND 9007199254740991),
        balance_micro bigint CHECK (abs(balance_micro) <= 9007199254740991),
        held_micro bigint NOT NULL DEFAULT 0 CHECK (held_micro BETWEEN 0 AND 9007199254740991),
        day bigint NOT NULL DEFAULT 0,
        day_spent_micro bigint NOT NULL DEFAULT 0 CHECK (day_spent_micro BETWEEN 0 AND 9007199254740991),
        month bigint NOT NULL DEFAULT 0,
        month_spent_micro bigint NOT NULL DEFAULT 0 CHECK (month_spent_micro BETWEEN 0 AND 9007199254740991),
        CHECK ((former_hash IS NULL) = (former_until_ms IS NULL))
      );
      CREATE TABLE deleted_keys (key bigint PRIMARY KEY);
      CREATE TABLE ledger (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key bigint NOT NULL,
        kind text NOT NULL CHECK (kind IN ('grant', 'adjust', 'reserve', 'release', 'settle', 'carry')),
        amount_micro bigint NOT NULL CHECK (abs(amount_micro) <= 9007199254740991),
        request_id text,
        note text NOT NULL,
        created_at_ms bigint NOT NULL
      );
      CREATE INDEX ledger_by_key ON ledger (key, seq);
      CREATE TABLE usage (
        hour bigint NOT NULL,
        caller text NOT NULL,
        model text NOT NULL,
        requests bigint NOT NULL,
        failed bigint NOT NULL,
        cancelled bigint NOT NULL,
        input_tokens bigint NOT NULL,
        cached_tokens bigint NOT NULL,
        output_tokens bigint NOT NULL,
        reasoning_tokens bigint NOT NULL,
        cost_micro bigint NOT NULL,
        duration_ms bigint NOT NULL,
        PRIMARY KEY (hour, caller, model)
      );
      CREATE INDEX usage_by_caller ON usage (caller, hour);
      ALTER TABLE requests ADD COLUMN key bigint;
      ALTER TABLE requests ADD COLUMN held_micro bigint CHECK (held_micro BETWEEN 0 AND 9007199254740991);
      ALTER TABLE requests ADD COLUMN interrupted_cost_micro bigint;
    `,
  },
  {
    name: '0003_ledger_references',
    sql: `
      ALTER TABLE ledger ADD COLUMN reference text;
      CREATE UNIQUE INDEX ledger_by_reference ON ledger (key, reference) WHERE reference IS NOT NULL;
    `,
  },
  {
    name: '0004_rates',
    runsBeside: '0003_ledger_references',
    sql: `
      ALTER TABLE keys ADD COLUMN minute bigint NOT NULL DEFAULT 0;
      ALTER TABLE keys ADD COLUMN minute_requests bigint NOT NULL DEFAULT 0;
      ALTER TABLE keys ADD COLUMN minute_tokens bigint NOT NULL DEFAULT 0;
    `,
  },
  {
    name: '0005_steady_owners',
    runsBeside: '0003_ledger_references',
    sql: `
      ALTER TABLE owners ADD COLUMN steady_since timestamptz NOT NULL DEFAULT clock_timestamp();
    `,
  },
  {
    name: '0006_owner_prices',
    runsBeside: '0003_ledger_references',
    sql: 'ALTER TABLE owners ADD COLUMN prices text',
  },
  {
    name: '0007_secret_mark',
    runsBeside: '0003_ledger_references',
    sql: `
      CREATE TABLE secret_mark (
        id bigint PRIMARY KEY CHECK (id = 1),
        mark text NOT NULL
      );
    `,
  },
  {
    name: '0008_lists',
    runsBeside: '0003_ledger_references',
    // Lists go by the id, which has the time, so an index serves pages, spans of time and ids of
    // records that are gone. Successes are not in the partial indexes: most records succeed.
    indexes: [
      'requests_of_caller ON requests (caller COLLATE "C", request_id COLLATE "C")',
      'requests_of_caller_by_model ON requests (caller COLLATE "C", model COLLATE "C", request_id COLLATE "C")',
      `requests_of_caller_by_status ON requests (caller COLLATE "C", status COLLATE "C", request_id COLLATE "C")
        WHERE status NOT IN ('processing', 'succeeded')`,
      `requests_of_caller_by_error ON requests (caller COLLATE "C", error_code COLLATE "C", request_id COLLATE "C")
        WHERE error_code IS NOT NULL`,
      'requests_by_model ON requests (model COLLATE "C", request_id COLLATE "C")',
      `requests_by_status ON requests (status COLLATE "C", request_id COLLATE "C")
        WHERE status NOT IN ('processing', 'succeeded')`,
      'requests_by_error ON requests (error_code COLLATE "C", request_id COLLATE "C") WHERE error_code IS NOT NULL',
    ],
    sql: 'DROP INDEX requests_by_caller',
  },
  {
    name: '0009_accepted_callers',
    runsBeside: '0003_ledger_references',
    sql: `
      CREATE TABLE accepted_callers (
        caller text PRIMARY KEY,
        accepted_at_ms bigint NOT NULL
      );
      CREATE INDEX accepted_callers_by_time ON accepted_callers (accepted_at_ms);
    `,
  },
  {
    name: '0010_confirmed',
    runsBeside: '0003_ledger_references',
    sql: 'ALTER TABLE requests ADD COLUMN confirmed smallint',
  },
  {
    name: '0011_cache_writes',
    runsBeside: '0003_ledger_references',
    sql: `
      ALTER TABLE requests ADD COLUMN cache_write_tokens bigint;
      ALTER TABLE usage ADD COLUMN cache_write_tokens bigint NOT NULL DEFAULT 0;
    `,
  },
  {
    name: '0012_upstream',
    runsBeside: '0003_ledger_references',
    sql: 'ALTER TABLE requests ADD COLUMN upstream text',
  },
  {
    name: '0013_groups',
    runsBeside: '0003_ledger_references',
    sql: `
      CREATE TABLE groups (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        group_id text NOT NULL UNIQUE,
        name text NOT NULL UNIQUE,
        created_at_ms bigint NOT NULL,
        expires_at_ms bigint,
        is_disabled smallint NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
        models text,
        requests_per_minute bigint CHECK (requests_per_minute >= 0),
        tokens_per_minute bigint CHECK (tokens_per_minute >= 0),
        spend_per_day_micro bigint CHECK (spend_per_day_micro BETWEEN 0 AND 9007199254740991),
        spend_per_month_micro bigint CHECK (spend_per_month_micro BETWEEN 0 AND 9007199254740991),
        balance_micro bigint CHECK (abs(balance_micro) <= 9007199254740991),
        held_micro bigint NOT NULL DEFAULT 0 CHECK (held_micro BETWEEN 0 AND 9007199254740991),
        day bigint NOT NULL DEFAULT 0,
        day_spent_micro bigint NOT NULL DEFAULT 0 CHECK (day_spent_micro BETWEEN 0 AND 9007199254740991),
        month bigint NOT NULL DEFAULT 0,
        month_spent_micro bigint NOT NULL DEFAULT 0 CHECK (month_spent_micro BETWEEN 0 AND 9007199254740991),
        minute bigint NOT NULL DEFAULT 0,
        minute_requests bigint NOT NULL DEFAULT 0,
        minute_tokens bigint NOT NULL DEFAULT 0
      );
      CREATE TABLE group_usage (
        group_id text NOT NULL,
        hour bigint NOT NULL,
        caller text NOT NULL,
        model text NOT NULL,
        requests bigint NOT NULL,
        failed bigint NOT NULL,
        cancelled bigint NOT NULL,
        input_tokens bigint NOT NULL,
        cached_tokens bigint NOT NULL,
        cache_write_tokens bigint NOT NULL,
        output_tokens bigint NOT NULL,
        reasoning_tokens bigint NOT NULL,
        cost_micro bigint NOT NULL,
        duration_ms bigint NOT NULL,
        PRIMARY KEY (group_id, hour, caller, model)
      );
      CREATE INDEX group_usage_by_hour ON group_usage (hour);
      ALTER TABLE keys ADD COLUMN group_id text REFERENCES groups (group_id);
      CREATE INDEX keys_by_group ON keys (group_id);
      CREATE INDEX keys_by_name ON keys (name);
      ALTER TABLE requests ADD COLUMN group_id text;
    `,
  },
  {
    name: '0014_group_lists',
    runsBeside: '0003_ledger_references',
    indexes: [
      'requests_of_group ON requests (group_id COLLATE "C", request_id COLLATE "C") WHERE group_id IS NOT NULL',
    ],
    sql: '',
  },
  {
    name: '0015_alerts',
    runsBeside: '0003_ledger_references',
    // Credits that are there already count from now on. `funded_micro` is the balance after the last
    // grant, with what was held then.
    sql: `
      CREATE TABLE alerts (
        subject text PRIMARY KEY,
        period text NOT NULL,
        level bigint NOT NULL,
        claimed_at_ms bigint NOT NULL
      );
      ALTER TABLE keys ADD COLUMN funded_micro bigint, ADD COLUMN funded_at_ms bigint;
      ALTER TABLE groups ADD COLUMN funded_micro bigint, ADD COLUMN funded_at_ms bigint;
      UPDATE keys SET funded_micro = balance_micro + held_micro, funded_at_ms = created_at_ms
        WHERE balance_micro IS NOT NULL;
      UPDATE groups SET funded_micro = balance_micro + held_micro, funded_at_ms = created_at_ms
        WHERE balance_micro IS NOT NULL;
    `,
  },
  {
    name: '0016_usage_rollups',
    runsBeside: '0003_ledger_references',
    // Sums of usage over whole days. `start` and `until` are hours from 1970. A rollup is not current
    // once its usage has changed.
    sql: `
      CREATE TABLE usage_rollups (
        kind text NOT NULL,
        start bigint NOT NULL,
        hours bigint NOT NULL,
        until bigint NOT NULL,
        is_current smallint NOT NULL,
        PRIMARY KEY (kind, start, hours)
      );
      CREATE INDEX usage_rollups_by_end ON usage_rollups (until);
      CREATE TABLE usage_sums (
        kind text NOT NULL,
        start bigint NOT NULL,
        hours bigint NOT NULL,
        group_id text NOT NULL,
        name text NOT NULL,
        requests bigint NOT NULL,
        failed bigint NOT NULL,
        cancelled bigint NOT NULL,
        input_tokens bigint NOT NULL,
        output_tokens bigint NOT NULL,
        cost_micro bigint NOT NULL,
        duration_ms bigint NOT NULL,
        PRIMARY KEY (kind, start, hours, group_id, name)
      );
    `,
  },
  {
    name: '0017_request_stats',
    runsBeside: '0003_ledger_references',
    // How long requests took and which were refused: `scope` is a caller, a group or empty for all, `start`
    // is in hours from 1970, and `counts` are in JSON.
    sql: `
      CREATE TABLE request_stats (
        scope text NOT NULL,
        per text NOT NULL,
        start bigint NOT NULL,
        model text NOT NULL,
        counts text NOT NULL,
        PRIMARY KEY (scope, per, start, model)
      );
      CREATE INDEX request_stats_by_time ON request_stats (per, start);
    `,
  },
  {
    name: '0018_key_marks',
    runsBeside: '0003_ledger_references',
    // The mark of the secret under which the hash lies; null is not known.
    sql: 'ALTER TABLE keys ADD COLUMN mark text;',
  },
];

/** Throws StoreOpenError if this program does not know a migration that it must know. */
export function refuseNewer(url: string, applied: readonly AppliedMigration[], migrations = MIGRATIONS): void {
  const unknown = findUnknown(applied, migrations);
  if (unknown === undefined) return;
  throw new StoreOpenError(
    `The database ${showDatabase(url)} was written by a newer version of this program (it has ${JSON.stringify(unknown)}).`,
  );
}

/** Returns the migrations that have run on this database, in order. */
export async function listMigrations(client: Client): Promise<readonly AppliedMigration[]> {
  if (!(await hasTable(client, 'migrations'))) return [];
  const { rows } = await client.query<AppliedMigration>(
    'SELECT name, runs_beside AS "runsBeside" FROM migrations ORDER BY name',
  );
  return rows;
}
