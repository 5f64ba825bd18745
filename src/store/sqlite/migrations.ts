import type { Database } from 'better-sqlite3';
import { refuseNewer, refuseOlder, runningBeside, type AppliedMigration, type Migration } from '../rows/migrations.ts';
import { tableSteps } from '../sql/tables.ts';

const STEPS = tableSteps({
  text: 'TEXT',
  integer: 'INTEGER',
  flag: 'INTEGER',
  number: 'INTEGER PRIMARY KEY AUTOINCREMENT',
  record: 'INTEGER PRIMARY KEY',
  owner: 'TEXT',
  list: 'TEXT CHECK (json_valid(models))',
  table: ' STRICT',
  byKey: ' STRICT, WITHOUT ROWID',
});

/** Append only, because each migration has run somewhere. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: '0001_requests',
    sql: `
      ${STEPS.requests}
      CREATE INDEX requests_by_caller ON requests (caller);
      CREATE TABLE write_probes (id INTEGER PRIMARY KEY, filler BLOB NOT NULL) STRICT;
    `,
  },
  {
    name: '0002_accounts',
    sql: `${STEPS.accounts} CREATE INDEX ledger_by_key ON ledger (key);`,
  },
  { name: '0003_ledger_references', sql: STEPS.references },
  ...runningBeside('0003_ledger_references', [
    { name: '0004_rates', sql: STEPS.rates },
    { name: '0005_secret_mark', sql: STEPS.secretMark },
    {
      name: '0006_lists',
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
    { name: '0007_accepted_callers', sql: STEPS.acceptedCallers },
    // 0 while another process asks the owner whether an unfinished request runs, 1 when it does.
    { name: '0008_confirmed', sql: 'ALTER TABLE requests ADD COLUMN confirmed INTEGER' },
    { name: '0009_cache_writes', sql: STEPS.cacheWrites },
    { name: '0010_upstream', sql: 'ALTER TABLE requests ADD COLUMN upstream TEXT' },
    {
      name: '0011_groups',
      sql: `
        ${STEPS.groups}
        CREATE INDEX requests_of_group ON requests (group_id, request_id) WHERE group_id IS NOT NULL;
      `,
    },
    { name: '0012_alerts', sql: STEPS.alerts },
    { name: '0013_usage_rollups', sql: STEPS.rollups },
    { name: '0014_request_stats', sql: STEPS.requestStats },
    // The mark of the secret under which the hash lies; null is not known.
    { name: '0015_key_marks', sql: 'ALTER TABLE keys ADD COLUMN mark TEXT' },
    { name: '0016_prompt_cache', sql: STEPS.promptCache },
    { name: '0017_weeks', sql: STEPS.weeks },
    { name: '0018_charged_currency', sql: STEPS.chargedCurrency },
  ]),
];

/**
 * Runs the missing migrations once, also when processes start together. Throws StoreOpenError when
 * the database has a migration that this program must know and does not.
 */
export function migrate(database: Database, migrations: readonly Migration[]): void {
  const run = database.transaction(() => {
    database.exec(
      'CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at_ms INTEGER NOT NULL, runs_beside TEXT) STRICT',
    );
    const found = listApplied(database);
    const applied = new Set(found.map(({ name }) => name));
    const record = database.prepare<[string, number, string | null]>(
      'INSERT INTO migrations (name, applied_at_ms, runs_beside) VALUES (?, ?, ?)',
    );
    refuseNewer(database.name, found, migrations);
    for (const { name, sql, runsBeside } of migrations.filter((migration) => !applied.has(migration.name))) {
      database.exec(sql);
      record.run(name, Date.now(), runsBeside ?? null);
    }
  });
  run.immediate();
}

/**
 * Throws StoreOpenError unless the migrations are those of this program, or newer ones allow it.
 */
export function refuseOtherVersion(database: Database): void {
  const applied = listApplied(database);
  refuseNewer(database.name, applied, MIGRATIONS);
  refuseOlder(database.name, applied, MIGRATIONS);
}

function listApplied(database: Database): readonly AppliedMigration[] {
  const isNew = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'migrations'").get() === undefined;
  if (isNew) return [];
  return database
    .prepare<[], AppliedMigration>('SELECT name, runs_beside AS runsBeside FROM migrations ORDER BY name')
    .all();
}

export function listMigrations(database: Database): readonly string[] {
  return listApplied(database).map(({ name }) => name);
}
