import type { Database } from 'better-sqlite3';
import type { KeyId } from '../../contract/ids.ts';
import {
  ACCOUNT_COLUMNS,
  openUnitOfWork,
  type Account,
  type EntryRow,
  type UnitOfWork,
} from '../shared/unit-of-work.ts';
import { USAGE_SUMS, type UsageSumRow } from '../shared/usage-rows.ts';

export interface SqliteUnitOfWork extends Omit<UnitOfWork, 'add' | 'flush'> {
  /** Runs before an operation reads the tables, and at the end. */
  flush(): void;
  discard(): void;
}

/** Each statement looks up the next number, which takes a third of its time. */
const AT_ONCE = 8;

export function prepareUnitOfWork(database: Database): SqliteUnitOfWork {
  const select = database.prepare<[number], Account>(`SELECT ${ACCOUNT_COLUMNS} FROM keys WHERE seq = ?`);
  const selectById = database.prepare<[KeyId], Account>(`SELECT ${ACCOUNT_COLUMNS} FROM keys WHERE key_id = ?`);
  const update = database.prepare<[Account]>(`
    UPDATE keys SET balance_micro = :balanceMicro, held_micro = :heldMicro, day = :day, day_spent_micro = :daySpentMicro,
      month = :month, month_spent_micro = :monthSpentMicro, minute = :minute, minute_requests = :minuteRequests,
      minute_tokens = :minuteTokens
    WHERE seq = :seq`);
  const insertEntry = prepareInsertEntries(database, 1);
  const insertEntries = prepareInsertEntries(database, AT_ONCE);
  // An overflow, whatever backends report, would keep records from becoming final.
  const columns = USAGE_SUMS.map(({ column }) => column);
  const values = USAGE_SUMS.map(({ name }) => `:${name}`);
  const sums = columns.map((each) => `${each} = min(${each} + excluded.${each}, ${Number.MAX_SAFE_INTEGER})`);
  const upsertUsage = database.prepare<[UsageSumRow]>(`
    INSERT INTO usage (hour, caller, model, ${columns.join(', ')})
    VALUES (:startHour, :caller, :model, ${values.join(', ')})
    ON CONFLICT DO UPDATE SET ${sums.join(', ')}`);

  const unit = openUnitOfWork({
    of: (key) => select.get(key),
    find: (keyId) => selectById.get(keyId),
  });

  return {
    funding: unit.funding,
    noteUsage: unit.noteUsage,
    takeBackUsage: unit.takeBackUsage,
    flush() {
      const { accounts, entries, sums } = unit.flush();
      for (const account of accounts) update.run(account);
      const many = entries.length - (entries.length % AT_ONCE);
      for (let at = 0; at < many; at += AT_ONCE) insertEntries.run(entries.slice(at, at + AT_ONCE).flatMap(toValues));
      for (const entry of entries.slice(many)) insertEntry.run(toValues(entry));
      for (const row of sums) upsertUsage.run(row);
    },
    discard: () => void unit.flush(),
  };
}

function prepareInsertEntries(database: Database, count: number) {
  return database.prepare<[readonly unknown[]]>(`
    INSERT INTO ledger (key, kind, amount_micro, request_id, note, created_at_ms, reference)
    VALUES ${Array.from({ length: count }, () => '(?, ?, ?, ?, ?, ?, ?)').join(', ')}`);
}

function toValues(entry: EntryRow): readonly unknown[] {
  const { key, kind, amountMicro, requestId, note, createdAtMs, reference } = entry;
  return [key, kind, amountMicro, requestId, note, createdAtMs, reference];
}
