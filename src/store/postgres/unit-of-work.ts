import type { KeyId } from '../../contract/ids.ts';
import { ACCOUNT_COLUMNS, openUnitOfWork, type Account, type UnitOfWork } from '../shared/unit-of-work.ts';
import { USAGE_SUMS } from '../shared/usage-rows.ts';
import { toJson, type Connection, type Statement } from './pool.ts';

export interface LockedUnitOfWork extends Omit<UnitOfWork, 'add' | 'flush'> {
  /** Locks these keys in the order of `seq`, so that transactions do not deadlock. */
  load(keys: Iterable<number>, keyIds?: Iterable<KeyId>): Promise<void>;
  loadById(keyId: KeyId): Promise<Account | undefined>;
  flush(): readonly Promise<unknown>[];
}

/** Rates are counted by the clock of the database. */
export type LockedAccount = Account & { readonly clockMs: number };

export const CLOCK_MS = 'floor(extract(epoch FROM clock_timestamp()) * 1000) AS "clockMs"';

const LOCK_KEYS: Statement = {
  name: 'lock_keys',
  text: `SELECT ${ACCOUNT_COLUMNS}, ${CLOCK_MS} FROM keys WHERE seq = ANY($1::bigint[]) OR key_id = ANY($2::text[])
    ORDER BY seq FOR NO KEY UPDATE`,
};

const LOCK_KEY: Statement = {
  name: 'lock_key',
  text: `SELECT ${ACCOUNT_COLUMNS}, ${CLOCK_MS} FROM keys WHERE key_id = $1 FOR NO KEY UPDATE`,
};

const WRITE_FUNDS: Statement = {
  name: 'write_funds',
  text: `
    UPDATE keys SET balance_micro = (f->>'balanceMicro')::bigint, held_micro = (f->>'heldMicro')::bigint,
      day = (f->>'day')::bigint, day_spent_micro = (f->>'daySpentMicro')::bigint,
      month = (f->>'month')::bigint, month_spent_micro = (f->>'monthSpentMicro')::bigint,
      minute = (f->>'minute')::bigint, minute_requests = (f->>'minuteRequests')::bigint,
      minute_tokens = (f->>'minuteTokens')::bigint
    FROM jsonb_array_elements($1::jsonb) AS f WHERE seq = (f->>'seq')::bigint`,
};

const WRITE_ENTRIES: Statement = {
  name: 'write_entries',
  text: `
    INSERT INTO ledger (key, kind, amount_micro, request_id, note, created_at_ms, reference)
    SELECT (e->>'key')::bigint, e->>'kind', (e->>'amountMicro')::bigint, e->>'requestId', e->>'note',
      (e->>'createdAtMs')::bigint, e->>'reference'
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS entries (e, place) ORDER BY place`,
};

const ADDED = USAGE_SUMS.map(
  ({ column }) => `${column} = least(usage.${column} + excluded.${column}, ${Number.MAX_SAFE_INTEGER})`,
);

const WRITE_USAGE: Statement = {
  name: 'write_usage',
  text: `
    INSERT INTO usage (hour, caller, model, ${USAGE_SUMS.map(({ column }) => column).join(', ')})
    SELECT (u->>'startHour')::bigint, u->>'caller', u->>'model',
      ${USAGE_SUMS.map(({ name }) => `(u->>'${name}')::bigint`).join(', ')}
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS sums (u, place) ORDER BY place
    ON CONFLICT (hour, caller, model) DO UPDATE SET ${ADDED.join(', ')}`,
};

/** Opens the unit of work of one transaction. Nothing is loaded yet. */
export function openLockedUnit(connection: Connection): LockedUnitOfWork {
  // A key that was not loaded counts as missing.
  const unit = openUnitOfWork({ of: () => undefined, find: () => undefined });
  return {
    funding: unit.funding,
    noteUsage: unit.noteUsage,
    takeBackUsage: unit.takeBackUsage,
    async load(keys, keyIds = []) {
      const wanted = [[...new Set(keys)], [...new Set(keyIds)]];
      if (wanted.every(({ length }) => length === 0)) return;
      for (const account of await connection.rows<LockedAccount>(LOCK_KEYS, wanted)) unit.add(account);
    },
    async loadById(keyId) {
      const [account] = await connection.rows<LockedAccount>(LOCK_KEY, [keyId]);
      return account && unit.add(account);
    },
    flush() {
      const { accounts, entries, sums } = unit.flush();
      return [
        ...(accounts.length === 0 ? [] : [connection.changes(WRITE_FUNDS, [toJson(accounts)])]),
        ...(entries.length === 0 ? [] : [connection.changes(WRITE_ENTRIES, [toJson(entries)])]),
        ...(sums.length === 0 ? [] : [connection.changes(WRITE_USAGE, [toJson(sums)])]),
      ];
    },
  };
}
