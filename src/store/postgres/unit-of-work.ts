import type { KeyId } from '../../contract/ids.ts';
import { openUnitOfWork, type UnitOfWork } from '../shared/unit-of-work.ts';
import type { Account } from '../shared/charges.ts';
import { USAGE_SUMS } from '../shared/usage-rows.ts';
import { toJson, type Connection, type Statement } from './pool.ts';

/** UnitOfWork which are read ahead, with the rows locked. */
export interface LockedBooks extends Pick<UnitOfWork, 'funding' | 'noteUsage'> {
  /**
   * Locks the keys of these places and of these ids and reads their funds, all in the order of their places, so that two
   * transactions cannot wait for each other.
   */
  load(keys: Iterable<number>, keyIds?: Iterable<KeyId>): Promise<void>;
  /** As `load`, of one key; undefined when there is none. */
  loadById(keyId: KeyId): Promise<Account | undefined>;
  /** Sends what was changed. */
  write(): readonly Promise<unknown>[];
}

type AccountRow = readonly [
  keyId: KeyId,
  seq: number,
  isDisabled: 0 | 1,
  expiresAtMs: number | null,
  balanceMicro: number | null,
  heldMicro: number,
  day: number,
  daySpentMicro: number,
  month: number,
  monthSpentMicro: number,
  spendPerDayMicro: number | null,
  spendPerMonthMicro: number | null,
  requestsPerMinute: number | null,
  tokensPerMinute: number | null,
  minute: number,
  minuteRequests: number,
  minuteTokens: number,
  clockMs: number,
];

const ACCOUNT_COLUMNS = `key_id, seq, is_disabled, expires_at_ms, balance_micro, held_micro, day, day_spent_micro, month,
  month_spent_micro, spend_per_day_micro, spend_per_month_micro, requests_per_minute, tokens_per_minute, minute,
  minute_requests, minute_tokens, floor(extract(epoch FROM clock_timestamp()) * 1000)`;

const LOCK_KEYS: Statement = {
  name: 'lock_keys',
  text: `SELECT ${ACCOUNT_COLUMNS} FROM keys WHERE seq = ANY($1::bigint[]) OR key_id = ANY($2::text[])
    ORDER BY seq FOR NO KEY UPDATE`,
};

const LOCK_KEY: Statement = {
  name: 'lock_key',
  text: `SELECT ${ACCOUNT_COLUMNS} FROM keys WHERE key_id = $1 FOR NO KEY UPDATE`,
};

const WRITE_FUNDS: Statement = {
  name: 'write_funds',
  text: `
    UPDATE keys SET balance_micro = (f->>1)::bigint, held_micro = (f->>2)::bigint, day = (f->>3)::bigint,
      day_spent_micro = (f->>4)::bigint, month = (f->>5)::bigint, month_spent_micro = (f->>6)::bigint,
      minute = (f->>7)::bigint, minute_requests = (f->>8)::bigint, minute_tokens = (f->>9)::bigint
    FROM jsonb_array_elements($1::jsonb) AS f WHERE seq = (f->>0)::bigint`,
};

const WRITE_ENTRIES: Statement = {
  name: 'write_entries',
  text: `
    INSERT INTO ledger (key, kind, amount_micro, request_id, note, created_at_ms, reference)
    SELECT (e->>0)::bigint, e->>1, (e->>2)::bigint, e->>3, e->>4, (e->>5)::bigint, e->>6
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS entries (e, place) ORDER BY place`,
};

// As on SQLite, sums stay within what JavaScript counts exactly.
const added = (column: string) => `${column} = least(usage.${column} + excluded.${column}, ${Number.MAX_SAFE_INTEGER})`;

const WRITE_USAGE: Statement = {
  name: 'write_usage',
  text: `
    INSERT INTO usage (hour, caller, model, ${USAGE_SUMS.join(', ')})
    SELECT (u->>0)::bigint, u->>1, u->>2, ${USAGE_SUMS.map((_, index) => `(u->>${index + 3})::bigint`).join(', ')}
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS sums (u, place) ORDER BY place
    ON CONFLICT (hour, caller, model) DO UPDATE SET ${USAGE_SUMS.map(added).join(', ')}`,
};

/** Opens the books of one transaction. Nothing is loaded yet. */
export function openLockedBooks(connection: Connection): LockedBooks {
  // What is not loaded is not there.
  const books = openUnitOfWork({ of: () => undefined, find: () => undefined });
  return {
    funding: books.funding,
    noteUsage: books.noteUsage,
    async load(keys, keyIds = []) {
      const wanted = [[...new Set(keys)], [...new Set(keyIds)]];
      if (wanted.every(({ length }) => length === 0)) return;
      for (const row of await connection.rows<AccountRow>(LOCK_KEYS, wanted)) books.keep(toAccount(row));
    },
    async loadById(keyId) {
      const [row] = await connection.rows<AccountRow>(LOCK_KEY, [keyId]);
      return row && books.keep(toAccount(row));
    },
    write() {
      const { accounts, entries, sums } = books.close();
      return [
        ...(accounts.length === 0 ? [] : [connection.changes(WRITE_FUNDS, [toJson(accounts.map(toFundsRow))])]),
        ...(entries.length === 0 ? [] : [connection.changes(WRITE_ENTRIES, [toJson(entries)])]),
        ...(sums.length === 0 ? [] : [connection.changes(WRITE_USAGE, [toJson(sums)])]),
      ];
    },
  };
}

function toAccount([keyId, seq, isDisabled, expiresAtMs, balanceMicro, heldMicro, ...rest]: AccountRow): Account {
  const [day, daySpentMicro, month, monthSpentMicro, spendPerDayMicro, spendPerMonthMicro, ...rate] = rest;
  const windows = { day, daySpentMicro, month, monthSpentMicro, spendPerDayMicro, spendPerMonthMicro };
  const [requestsPerMinute, tokensPerMinute, minute, minuteRequests, minuteTokens, clockMs] = rate;
  const rates = { requestsPerMinute, tokensPerMinute, minute, minuteRequests, minuteTokens, clockMs };
  return { keyId, seq, isDisabled, expiresAtMs, balanceMicro, heldMicro, ...windows, ...rates };
}

function toFundsRow(account: Account): readonly unknown[] {
  const { seq, balanceMicro, heldMicro, day, daySpentMicro, month, monthSpentMicro } = account;
  const { minute, minuteRequests, minuteTokens } = account;
  const windows = [day, daySpentMicro, month, monthSpentMicro, minute, minuteRequests, minuteTokens];
  return [seq, balanceMicro, heldMicro, ...windows];
}
