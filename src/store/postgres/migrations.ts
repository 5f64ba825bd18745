import type { Client } from 'pg';
import { runningBeside, type AppliedMigration, type Migration } from '../rows/migrations.ts';
import { tableSteps } from '../sql/tables.ts';
import { hasTable } from './has-table.ts';

export interface PostgresMigration extends Migration {
  /** Made before the step, without holding up writers: the name, `ON` and what follows. */
  readonly indexes?: readonly string[];
}

const NUMBER = 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY';

const STEPS = tableSteps({
  text: 'text',
  integer: 'bigint',
  flag: 'smallint',
  number: NUMBER,
  record: NUMBER,
  owner: 'text REFERENCES owners',
  list: 'text',
  table: '',
  byKey: '',
});

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
      ${STEPS.requests}
      CREATE INDEX requests_by_caller ON requests (caller, seq);
      CREATE TABLE write_probes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
    `,
  },
  {
    name: '0002_accounts',
    // The ledger of a deleted key is dropped in small steps; until then `deleted_keys` has its
    // number.
    sql: `
      ${STEPS.accounts}
      CREATE TABLE deleted_keys (key bigint PRIMARY KEY);
      CREATE INDEX ledger_by_key ON ledger (key, seq);
    `,
  },
  { name: '0003_ledger_references', sql: STEPS.references },
  ...runningBeside('0003_ledger_references', [
    { name: '0004_rates', sql: STEPS.rates },
    {
      name: '0005_steady_owners',
      sql: 'ALTER TABLE owners ADD COLUMN steady_since timestamptz NOT NULL DEFAULT clock_timestamp()',
    },
    { name: '0006_owner_prices', sql: 'ALTER TABLE owners ADD COLUMN prices text' },
    { name: '0007_secret_mark', sql: STEPS.secretMark },
    {
      name: '0008_lists',
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
    { name: '0009_accepted_callers', sql: STEPS.acceptedCallers },
    { name: '0010_confirmed', sql: 'ALTER TABLE requests ADD COLUMN confirmed smallint' },
    { name: '0011_cache_writes', sql: STEPS.cacheWrites },
    { name: '0012_upstream', sql: 'ALTER TABLE requests ADD COLUMN upstream text' },
    { name: '0013_groups', sql: STEPS.groups },
    {
      name: '0014_group_lists',
      indexes: [
        'requests_of_group ON requests (group_id COLLATE "C", request_id COLLATE "C") WHERE group_id IS NOT NULL',
      ],
      sql: '',
    },
    { name: '0015_alerts', sql: STEPS.alerts },
    { name: '0016_usage_rollups', sql: STEPS.rollups },
    { name: '0017_request_stats', sql: STEPS.requestStats },
    // The mark of the secret under which the hash lies; null is not known.
    { name: '0018_key_marks', sql: 'ALTER TABLE keys ADD COLUMN mark text' },
    { name: '0019_prompt_cache', sql: STEPS.promptCache },
    { name: '0020_weeks', sql: STEPS.weeks },
    { name: '0021_charged_currency', sql: STEPS.chargedCurrency },
  ]),
];

export async function listMigrations(client: Client): Promise<readonly AppliedMigration[]> {
  if (!(await hasTable(client, 'migrations'))) return [];
  const { rows } = await client.query<AppliedMigration>(
    'SELECT name, runs_beside AS "runsBeside" FROM migrations ORDER BY name',
  );
  return rows;
}
