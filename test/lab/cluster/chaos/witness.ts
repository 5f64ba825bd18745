/** What the database itself saw, and what the backend did: who was there need not ask the gateways. */
import { Client, type QueryResultRow } from 'pg';
import type { ScriptedBackend } from '../../../support/backend.ts';
import { nameIn, scriptOf, type Plan } from './plans.ts';

/** One row at the end. */
export interface RecordRow {
  readonly requestId: string;
  readonly status: 'processing' | 'succeeded' | 'failed' | 'cancelled';
  readonly errorCode: string | null;
  readonly completedAtMs: number | null;
  readonly cancelRequestedAtMs: number | null;
  /** Whether its idempotency key is still taken. */
  readonly isKept: boolean;
}

/**
 * From now on the database notes every change of a record that was final already. A transaction that changes one cannot
 * hide it, however shortly that lasts. What a recovery has closed may be confirmed, or else be taken back: the gateway that
 * accepted it was only paused, and has told nobody of it.
 */
export async function watchFinalRecords(url: string): Promise<void> {
  await query(
    url,
    `
    CREATE TABLE broken_promises (request_id text NOT NULL, was text NOT NULL, became text);
    CREATE FUNCTION note_broken_promise() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO broken_promises VALUES (OLD.request_id, OLD::text, CASE TG_OP WHEN 'UPDATE' THEN NEW::text END);
        RETURN NULL;
      END $$;
    CREATE TRIGGER final_is_final AFTER UPDATE ON requests FOR EACH ROW
      WHEN (OLD.status <> 'processing' AND to_jsonb(OLD) - 'confirmed' IS DISTINCT FROM to_jsonb(NEW) - 'confirmed') EXECUTE FUNCTION note_broken_promise();
    CREATE TRIGGER final_stays AFTER DELETE ON requests FOR EACH ROW
      WHEN (OLD.status <> 'processing' AND NOT (OLD.error_code = 'gateway_interrupted' AND OLD.confirmed IS DISTINCT FROM 1))
      EXECUTE FUNCTION note_broken_promise();`,
  );
}

/** What `watchFinalRecords` has noted. */
export async function findBrokenFinals(url: string): Promise<readonly string[]> {
  const rows = await query<{ text: string }>(
    url,
    `SELECT request_id || ' was ' || was || ' and became ' || coalesce(became, 'nothing') AS text FROM broken_promises`,
  );
  return rows.map(({ text }) => text);
}

/** Every record, by its id. */
export async function readRecords(url: string): Promise<ReadonlyMap<string, RecordRow>> {
  const rows = await query<RecordRow & QueryResultRow>(
    url,
    `SELECT request_id AS "requestId", status, error_code AS "errorCode", completed_at_ms::float8 AS "completedAtMs",
      cancel_requested_at_ms::float8 AS "cancelRequestedAtMs", idempotency_key IS NOT NULL AS "isKept" FROM requests`,
  );
  return new Map(rows.map((row) => [row.requestId, row]));
}

export interface LedgerRow {
  /** Of the key or of the group. */
  readonly accountId: string;
  readonly requestId: string | null;
  /** Entries of one account are numbered in the order in which they were made. */
  readonly seq: number;
}

/** Every entry of a ledger, by its number. */
export function readLedger(url: string): Promise<readonly LedgerRow[]> {
  return query<LedgerRow & QueryResultRow>(
    url,
    `SELECT coalesce(key_id, groups.group_id) AS "accountId", request_id AS "requestId", ledger.seq::float8 AS seq
     FROM ledger LEFT JOIN keys ON keys.seq = ledger.key LEFT JOIN groups ON -groups.seq = ledger.key
     ORDER BY ledger.seq`,
  );
}

/** The groups that have spent or asked more than they may, on the last day or in the last minute in which they did. */
export async function findExceededLimits(url: string): Promise<readonly string[]> {
  const rows = await query<{ text: string }>(
    url,
    `SELECT name || ' has spent ' || day_spent_micro || ' and asked ' || minute_requests || ' times' AS text
     FROM groups WHERE day_spent_micro > spend_per_day_micro OR minute_requests > requests_per_minute`,
  );
  return rows.map(({ text }) => text);
}

/** Where the limit per day of a group stood once an entry of its ledger was made. In millionths. */
export interface DayRow {
  readonly name: string;
  readonly kind: string;
  readonly createdAtMs: number;
  readonly amountMicro: number;
  /** Spent on the day of the entry, with what was reserved then. */
  readonly usedMicro: number;
  readonly limitMicro: number;
}

/** Every entry of the groups with a limit per day, in the order in which they were made. */
export function readDays(url: string): Promise<readonly DayRow[]> {
  return query<DayRow & QueryResultRow>(
    url,
    `SELECT name, kind, ledger.created_at_ms::float8 AS "createdAtMs", amount_micro::float8 AS "amountMicro",
       (-sum(amount_micro) FILTER (WHERE kind IN ('reserve', 'release', 'settle'))
         OVER (PARTITION BY ledger.key, ledger.created_at_ms / 86400000 ORDER BY ledger.seq))::float8 AS "usedMicro",
       spend_per_day_micro::float8 AS "limitMicro"
     FROM ledger JOIN groups ON -groups.seq = ledger.key WHERE spend_per_day_micro IS NOT NULL ORDER BY ledger.seq`,
  );
}

/** How many records are not final. */
export async function countUnfinished(url: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    url,
    `SELECT count(*)::int AS count FROM requests WHERE status = 'processing'`,
  );
  return row?.count ?? 0;
}

async function query<Row extends QueryResultRow>(url: string, sql: string): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/**
 * Lets the backend follow the plans. Returns the names that it was asked for once more than the contract allows: a key is
 * free again only after the backend has refused its request, since nothing ran then.
 */
export function followPlans(backend: ScriptedBackend, plans: ReadonlyMap<string, Plan>) {
  const used = new Set<string>();
  const repeated: string[] = [];
  let calls = 0;
  backend.always(async (stage) => {
    const plan = plans.get(nameIn(stage.request.body));
    if (plan === undefined) throw new Error(`nobody has planned ${JSON.stringify(stage.request.body)}`);
    calls += 1;
    if (used.has(plan.name)) repeated.push(`${plan.name}, a ${plan.kind} that ends with ${plan.ending}`);
    if (plan.ending !== 'refusal') used.add(plan.name);
    await scriptOf(plan)(stage);
  });
  return {
    repeated,
    get calls() {
      return calls;
    },
  };
}
