import type { SpendWindow } from '../../core/money/limits.ts';

/** How the columns and tables of one engine are declared. */
export interface Declarations {
  readonly text: string;
  readonly integer: string;
  readonly flag: string;
  /** The number of a row, which is never given again. */
  readonly number: string;
  readonly record: string;
  /** Of the process that an unfinished record belongs to. */
  readonly owner: string;
  /** A list of names in JSON. */
  readonly list: string;
  /** What follows the columns of a table, and of one that is stored by its primary key. */
  readonly table: string;
  readonly byKey: string;
}

const SAFE = Number.MAX_SAFE_INTEGER;

/** Returns the step that adds a window of spending. Append only, as all of them are. */
function spendWindow(per: SpendWindow['per'], integer: string): string {
  const columns = (table: string) => [
    `ALTER TABLE ${table} ADD COLUMN ${per} ${integer} NOT NULL DEFAULT 0;`,
    `ALTER TABLE ${table} ADD COLUMN ${per}_spent_micro ${integer} NOT NULL DEFAULT 0
          CHECK (${per}_spent_micro BETWEEN 0 AND ${SAFE});`,
    `ALTER TABLE ${table} ADD COLUMN spend_per_${per}_micro ${integer}
          CHECK (spend_per_${per}_micro BETWEEN 0 AND ${SAFE});`,
  ];
  return ['keys', 'groups'].flatMap(columns).join('\n');
}

/** Returns the steps in which both engines make their tables. Append only, because each has run somewhere. */
export function tableSteps({ text, integer, flag, number, record, owner, list, table, byKey }: Declarations) {
  const funds = `is_disabled ${flag} NOT NULL DEFAULT 0 CHECK (is_disabled IN (0, 1)),
      models ${list},
      requests_per_minute ${integer} CHECK (requests_per_minute >= 0),
      tokens_per_minute ${integer} CHECK (tokens_per_minute >= 0),
      spend_per_day_micro ${integer} CHECK (spend_per_day_micro BETWEEN 0 AND ${SAFE}),
      spend_per_month_micro ${integer} CHECK (spend_per_month_micro BETWEEN 0 AND ${SAFE}),
      balance_micro ${integer} CHECK (abs(balance_micro) <= ${SAFE}),
      held_micro ${integer} NOT NULL DEFAULT 0 CHECK (held_micro BETWEEN 0 AND ${SAFE}),
      day ${integer} NOT NULL DEFAULT 0,
      day_spent_micro ${integer} NOT NULL DEFAULT 0 CHECK (day_spent_micro BETWEEN 0 AND ${SAFE}),
      month ${integer} NOT NULL DEFAULT 0,
      month_spent_micro ${integer} NOT NULL DEFAULT 0 CHECK (month_spent_micro BETWEEN 0 AND ${SAFE})`;
  return {
    // `caller`, `idempotency_key` and `body` are HMACs. The key is empty when there is none, or when it was freed. Final rows have no
    // owner, so the index on owners stays small.
    requests: `
    CREATE TABLE requests (
      seq ${record},
      request_id ${text} NOT NULL UNIQUE,
      caller ${text} NOT NULL,
      owner ${owner},
      endpoint ${text} NOT NULL,
      model ${text} NOT NULL,
      stream ${flag} NOT NULL,
      status ${text} NOT NULL CHECK (status IN ('processing', 'succeeded', 'failed', 'cancelled')),
      created_at_ms ${integer} NOT NULL,
      completed_at_ms ${integer},
      cancel_requested_at_ms ${integer},
      estimated_input_tokens ${integer} NOT NULL,
      input_tokens ${integer},
      cached_tokens ${integer},
      output_tokens ${integer},
      reasoning_tokens ${integer},
      total_tokens ${integer},
      usage_estimated ${flag} NOT NULL DEFAULT 0,
      cost_micro ${integer},
      incomplete_reason ${text},
      error_code ${text},
      idempotency_key ${text},
      body ${text},
      CHECK ((status = 'processing') = (owner IS NOT NULL)),
      CHECK ((status = 'processing') = (completed_at_ms IS NULL)),
      CHECK (idempotency_key IS NULL OR body IS NOT NULL)
    )${table};
    CREATE UNIQUE INDEX requests_by_idempotency_key ON requests (caller, idempotency_key, body)
      WHERE idempotency_key IS NOT NULL;
    CREATE INDEX requests_by_owner ON requests (owner) WHERE owner IS NOT NULL;
    CREATE INDEX requests_by_completion ON requests (completed_at_ms) WHERE completed_at_ms IS NOT NULL;`,
    // References to a key use its `seq`, which is never reused. `day` and `month` count from 1970 and from year 0; they belong to
    // the latest charge.
    accounts: `
    CREATE TABLE keys (
      seq ${number},
      key_id ${text} NOT NULL UNIQUE,
      hash ${text} NOT NULL UNIQUE,
      former_hash ${text} UNIQUE,
      former_until_ms ${integer},
      prefix ${text} NOT NULL,
      name ${text} NOT NULL,
      created_at_ms ${integer} NOT NULL,
      expires_at_ms ${integer},
      ${funds},
      CHECK ((former_hash IS NULL) = (former_until_ms IS NULL))
    )${table};
    CREATE TABLE ledger (
      seq ${number},
      key ${integer} NOT NULL,
      kind ${text} NOT NULL CHECK (kind IN ('grant', 'adjust', 'reserve', 'release', 'settle', 'carry')),
      amount_micro ${integer} NOT NULL CHECK (abs(amount_micro) <= ${SAFE}),
      request_id ${text},
      note ${text} NOT NULL,
      created_at_ms ${integer} NOT NULL
    )${table};
    CREATE TABLE usage (
      hour ${integer} NOT NULL,
      caller ${text} NOT NULL,
      model ${text} NOT NULL,
      requests ${integer} NOT NULL,
      failed ${integer} NOT NULL,
      cancelled ${integer} NOT NULL,
      input_tokens ${integer} NOT NULL,
      cached_tokens ${integer} NOT NULL,
      output_tokens ${integer} NOT NULL,
      reasoning_tokens ${integer} NOT NULL,
      cost_micro ${integer} NOT NULL,
      duration_ms ${integer} NOT NULL,
      PRIMARY KEY (hour, caller, model)
    )${byKey};
    CREATE INDEX usage_by_caller ON usage (caller, hour);
    ALTER TABLE requests ADD COLUMN key ${integer};
    ALTER TABLE requests ADD COLUMN held_micro ${integer} CHECK (held_micro BETWEEN 0 AND ${SAFE});
    ALTER TABLE requests ADD COLUMN interrupted_cost_micro ${integer};`,
    references: `
    ALTER TABLE ledger ADD COLUMN reference ${text};
    CREATE UNIQUE INDEX ledger_by_reference ON ledger (key, reference) WHERE reference IS NOT NULL;`,
    // The counts belong to the latest minute with a request; `minute` counts from 1970.
    rates: `
    ALTER TABLE keys ADD COLUMN minute ${integer} NOT NULL DEFAULT 0;
    ALTER TABLE keys ADD COLUMN minute_requests ${integer} NOT NULL DEFAULT 0;
    ALTER TABLE keys ADD COLUMN minute_tokens ${integer} NOT NULL DEFAULT 0;`,
    // One row at most: an HMAC of a constant, which identifies the secret of the other HMACs.
    secretMark: `
    CREATE TABLE secret_mark (
      id ${integer} PRIMARY KEY CHECK (id = 1),
      mark ${text} NOT NULL
    )${table};`,
    // HMACs of keys that the backend has accepted.
    acceptedCallers: `
    CREATE TABLE accepted_callers (
      caller ${text} PRIMARY KEY,
      accepted_at_ms ${integer} NOT NULL
    )${byKey};
    CREATE INDEX accepted_callers_by_time ON accepted_callers (accepted_at_ms);`,
    cacheWrites: `
    ALTER TABLE requests ADD COLUMN cache_write_tokens ${integer};
    ALTER TABLE usage ADD COLUMN cache_write_tokens ${integer} NOT NULL DEFAULT 0;`,
    // The ledger has the entries of a group under its number with a minus. Usage by group is a table of its own, since a key can
    // move.
    groups: `
    CREATE TABLE groups (
      seq ${number},
      group_id ${text} NOT NULL UNIQUE,
      name ${text} NOT NULL UNIQUE,
      created_at_ms ${integer} NOT NULL,
      expires_at_ms ${integer},
      ${funds},
      minute ${integer} NOT NULL DEFAULT 0,
      minute_requests ${integer} NOT NULL DEFAULT 0,
      minute_tokens ${integer} NOT NULL DEFAULT 0
    )${table};
    CREATE TABLE group_usage (
      group_id ${text} NOT NULL,
      hour ${integer} NOT NULL,
      caller ${text} NOT NULL,
      model ${text} NOT NULL,
      requests ${integer} NOT NULL,
      failed ${integer} NOT NULL,
      cancelled ${integer} NOT NULL,
      input_tokens ${integer} NOT NULL,
      cached_tokens ${integer} NOT NULL,
      cache_write_tokens ${integer} NOT NULL,
      output_tokens ${integer} NOT NULL,
      reasoning_tokens ${integer} NOT NULL,
      cost_micro ${integer} NOT NULL,
      duration_ms ${integer} NOT NULL,
      PRIMARY KEY (group_id, hour, caller, model)
    )${byKey};
    CREATE INDEX group_usage_by_hour ON group_usage (hour);
    ALTER TABLE keys ADD COLUMN group_id ${text} REFERENCES groups (group_id);
    CREATE INDEX keys_by_group ON keys (group_id);
    CREATE INDEX keys_by_name ON keys (name);
    ALTER TABLE requests ADD COLUMN group_id ${text};`,
    // Credits that are there already count from now on. `funded_micro` is the balance after the last grant, with what was held then.
    alerts: `
    CREATE TABLE alerts (
      subject ${text} PRIMARY KEY,
      period ${text} NOT NULL,
      level ${integer} NOT NULL,
      claimed_at_ms ${integer} NOT NULL
    )${table};
    ALTER TABLE keys ADD COLUMN funded_micro ${integer};
    ALTER TABLE keys ADD COLUMN funded_at_ms ${integer};
    ALTER TABLE groups ADD COLUMN funded_micro ${integer};
    ALTER TABLE groups ADD COLUMN funded_at_ms ${integer};
    UPDATE keys SET funded_micro = balance_micro + held_micro, funded_at_ms = created_at_ms
      WHERE balance_micro IS NOT NULL;
    UPDATE groups SET funded_micro = balance_micro + held_micro, funded_at_ms = created_at_ms
      WHERE balance_micro IS NOT NULL;`,
    // Sums of usage over whole days. `start` and `until` are hours from 1970. A rollup is not current once its usage has changed.
    rollups: `
    CREATE TABLE usage_rollups (
      kind ${text} NOT NULL,
      start ${integer} NOT NULL,
      hours ${integer} NOT NULL,
      until ${integer} NOT NULL,
      is_current ${flag} NOT NULL,
      PRIMARY KEY (kind, start, hours)
    )${byKey};
    CREATE INDEX usage_rollups_by_end ON usage_rollups (until);
    CREATE TABLE usage_sums (
      kind ${text} NOT NULL,
      start ${integer} NOT NULL,
      hours ${integer} NOT NULL,
      group_id ${text} NOT NULL,
      name ${text} NOT NULL,
      requests ${integer} NOT NULL,
      failed ${integer} NOT NULL,
      cancelled ${integer} NOT NULL,
      input_tokens ${integer} NOT NULL,
      output_tokens ${integer} NOT NULL,
      cost_micro ${integer} NOT NULL,
      duration_ms ${integer} NOT NULL,
      PRIMARY KEY (kind, start, hours, group_id, name)
    )${byKey};`,
    // How long requests took and which were refused: `scope` is a caller, a group or empty for all, `start` is in hours from 1970,
    // and `counts` are in JSON.
    requestStats: `
    CREATE TABLE request_stats (
      scope ${text} NOT NULL,
      per ${text} NOT NULL,
      start ${integer} NOT NULL,
      model ${text} NOT NULL,
      counts ${text} NOT NULL,
      PRIMARY KEY (scope, per, start, model)
    )${byKey};
    CREATE INDEX request_stats_by_time ON request_stats (per, start);`,
    // What is known of the backend's prefix cache: how a turn went on from the one before it, and what cached tokens saved.
    promptCache: `
    ALTER TABLE requests ADD COLUMN cache_turn ${text};
    ALTER TABLE requests ADD COLUMN cache_broken_at ${text};
    ALTER TABLE requests ADD COLUMN saved_micro ${integer};
    ALTER TABLE usage ADD COLUMN saved_micro ${integer} NOT NULL DEFAULT 0;
    ALTER TABLE group_usage ADD COLUMN saved_micro ${integer} NOT NULL DEFAULT 0;
    ALTER TABLE usage_sums ADD COLUMN cached_tokens ${integer} NOT NULL DEFAULT 0;
    ALTER TABLE usage_sums ADD COLUMN saved_micro ${integer} NOT NULL DEFAULT 0;`,
    // One row at most: in which currency the latest gateway has charged.
    chargedCurrency: `
    CREATE TABLE charged_currency (
      id ${integer} PRIMARY KEY CHECK (id = 1),
      currency ${text} NOT NULL
    )${table};`,
    // `week` counts the Mondays from the first of 1970.
    weeks: spendWindow('week', integer),
  };
}
