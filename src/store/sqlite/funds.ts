import type { Database } from 'better-sqlite3';
import type { KeyId } from '../../core/ids.ts';
import type { Account, EntryRow, FundsTable } from '../engine/charges.ts';
import type { Funds } from '../funds.ts';
import type { RateCounts } from '../rates.ts';

/** The funds of a key and the ledger that explains them. They change together: inside one transaction of whoever calls. */
export function prepareFunds(database: Database): FundsTable {
  const columns = `seq, is_disabled AS isDisabled, expires_at_ms AS expiresAtMs, balance_micro AS balanceMicro,
    held_micro AS heldMicro, day, day_spent_micro AS daySpentMicro, month, month_spent_micro AS monthSpentMicro,
    spend_per_day_micro AS spendPerDayMicro, spend_per_month_micro AS spendPerMonthMicro,
    requests_per_minute AS requestsPerMinute, tokens_per_minute AS tokensPerMinute, minute,
    minute_requests AS minuteRequests, minute_tokens AS minuteTokens`;
  const select = database.prepare<[number], Account>(`SELECT ${columns} FROM keys WHERE seq = ?`);
  const selectById = database.prepare<[KeyId], Account>(`SELECT ${columns} FROM keys WHERE key_id = ?`);
  const update = database.prepare<[number | null, number, number, number, number, number, number]>(`
    UPDATE keys SET balance_micro = ?, held_micro = ?, day = ?, day_spent_micro = ?, month = ?, month_spent_micro = ?
    WHERE seq = ?`);
  const updateCounts = database.prepare<[number, number, number, number]>(
    'UPDATE keys SET minute = ?, minute_requests = ?, minute_tokens = ? WHERE seq = ?',
  );
  const insertEntry = database.prepare<[...Required<EntryRow>]>(`
    INSERT INTO ledger (key, kind, amount_micro, request_id, note, created_at_ms, reference)
    VALUES (?, ?, ?, ?, ?, ?, ?)`);

  return {
    of: (key: number): Account | undefined => select.get(key),
    find: (keyId: KeyId): Account | undefined => selectById.get(keyId),
    write(key: number, { balanceMicro, heldMicro, day, daySpentMicro, month, monthSpentMicro }: Funds): void {
      update.run(balanceMicro, heldMicro, day, daySpentMicro, month, monthSpentMicro, key);
    },
    count(key: number, { minute, minuteRequests, minuteTokens }: RateCounts): void {
      updateCounts.run(minute, minuteRequests, minuteTokens, key);
    },
    enter(...[key, kind, amountMicro, requestId, note, createdAtMs, reference = null]: EntryRow): void {
      if (amountMicro !== 0) insertEntry.run(key, kind, amountMicro, requestId, note, createdAtMs, reference);
    },
  };
}
