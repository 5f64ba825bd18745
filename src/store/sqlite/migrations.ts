import type { Database } from 'better-sqlite3';
import { StoreOpenError } from '../store.ts';

export interface Migration {
  /** Recorded in the database, so it never changes. */
  readonly name: string;
  readonly sql: string;
}

/** Appended to, never edited: each has run somewhere. */
export const MIGRATIONS: readonly Migration[] = [
  {
    name: '0001_requests',
    // `caller`, `idempotency_key` and `body` are HMACs; the key is empty when the request has none, or when it was freed.
    // An index on `caller` alone is in the order of `seq` within each caller, since `seq` is the row id.
    // Final rows have no owner, so the index on owners holds the unfinished rows only and stays small.
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
];

/**
 * Runs what has not run on this database yet, in one transaction, so that two processes which start together do it once.
 * Throws StoreOpenError when the database knows a migration which this program does not.
 */
export function migrate(database: Database, migrations: readonly Migration[]): void {
  const run = database.transaction(() => {
    database.exec(
      'CREATE TABLE IF NOT EXISTS migrations (name TEXT PRIMARY KEY, applied_at_ms INTEGER NOT NULL) STRICT',
    );
    const applied = new Set(database.prepare<[], string>('SELECT name FROM migrations ORDER BY name').pluck().all());
    const record = database.prepare<[string, number]>('INSERT INTO migrations (name, applied_at_ms) VALUES (?, ?)');
    const unknown = [...applied].findLast((name) => !migrations.some((migration) => migration.name === name));
    if (unknown !== undefined) {
      throw new StoreOpenError(
        `The database ${database.name} was written by a newer version of this program (it has ${JSON.stringify(unknown)}).`,
      );
    }
    for (const { name, sql } of migrations.filter((migration) => !applied.has(migration.name))) {
      database.exec(sql);
      record.run(name, Date.now());
    }
  });
  run.immediate();
}
