import type { Database } from 'better-sqlite3';
import type { KeyId } from '../../contract/ids.ts';
import type { CreditEntry } from '../keys.ts';
import { CARRY_STEP, KEY_COLUMNS, LOOK_AT_KEYS, type KeyRow, type LedgerRow } from '../shared/key-rows.ts';
import { credit as addCredit } from '../shared/funds.ts';
import type { SqliteBooks } from './unit-of-work.ts';

/** The entries which add up to the balance of a prepaid key. */
export function prepareLedger(database: Database, books: SqliteBooks) {
  const selectKey = database.prepare<[number], KeyRow>(`SELECT ${KEY_COLUMNS} FROM keys WHERE seq = ?`).raw();

  const selectReference = database.prepare<[number, string]>('SELECT 1 FROM ledger WHERE key = ? AND reference = ?');

  /**
   * Null when there is no such key, `repeated` when it has an entry with this reference. Throws RangeError, before anything
   * is written, when the balance would be too large.
   */
  function credit(keyId: KeyId, entry: CreditEntry): KeyRow | 'repeated' | null {
    const { kind, amountMicro, note, reference, createdAtMs } = entry;
    const account = books.funding.find(keyId);
    if (account === undefined) return null;
    const { seq } = account;
    if (reference !== undefined && selectReference.get(seq, reference) !== undefined) return 'repeated';
    const credited = addCredit(account, amountMicro);
    books.funding.write(seq, credited.funds);
    books.funding.enter(seq, kind, amountMicro, null, note, createdAtMs, reference);
    books.funding.enter(seq, 'reserve', -credited.reservedMicro, null, 'held when it became prepaid', createdAtMs);
    books.settle();
    return selectKey.get(seq) ?? null;
  }

  const selectPage = database
    .prepare<[number, number, number], LedgerRow>(`
    SELECT seq, kind, amount_micro, request_id, note, created_at_ms, reference FROM ledger
    WHERE key = ? AND seq < ? ORDER BY seq DESC LIMIT ?`)
    .raw();

  /** Newest first. Null when there is no such key. */
  function listLedger(keyId: KeyId, beforeSeq: number, limit: number): readonly LedgerRow[] | null {
    const account = books.funding.find(keyId);
    return account === undefined ? null : selectPage.all(account.seq, beforeSeq, limit);
  }

  const selectNextKey = database
    .prepare<[number], number>('SELECT key FROM ledger WHERE key > ? ORDER BY key LIMIT 1')
    .pluck();

  /**
   * Goes on behind this key and makes one carry of old entries of the next key that has any. Returns behind which key to
   * go on, and null at the end.
   */
  function carrySome(afterKey: number, beforeMs: number): number | null {
    let after = afterKey;
    for (let looked = 0; looked < LOOK_AT_KEYS; looked += 1) {
      const key = selectNextKey.get(after);
      if (key === undefined) return null;
      const isChanged = books.funding.of(key) === undefined ? dropSome(key) : carry(key, beforeMs);
      // There may be more of this key.
      if (isChanged) return key - 1;
      after = key;
    }
    return after;
  }

  const selectOldest = database
    .prepare<[number, number], LedgerRow>(`
    SELECT seq, kind, amount_micro, request_id, note, created_at_ms, reference FROM ledger
    WHERE key = ? ORDER BY seq LIMIT ?`)
    .raw();
  const turnIntoCarry = database.prepare<[number, number]>(
    `UPDATE ledger SET kind = 'carry', amount_micro = ?, request_id = NULL, note = '', reference = NULL WHERE seq = ?`,
  );
  const removeBefore = database.prepare<[number, number]>('DELETE FROM ledger WHERE key = ? AND seq < ?');

  /**
   * Makes one entry of the oldest ones, an earlier carry among them, so that the sum stays what it was. A reservation may
   * be carried while its request still runs: the release which will follow is an entry of its own. Returns whether
   * anything was changed.
   */
  function carry(key: number, beforeMs: number): boolean {
    const oldest = selectOldest.all(key, CARRY_STEP);
    const firstYoung = oldest.findIndex(([, , , , , createdAtMs]) => createdAtMs >= beforeMs);
    const old = firstYoung === -1 ? oldest : oldest.slice(0, firstYoung);
    const last = old.at(-1);
    // A carry is the first entry, so that one which is also the last stands alone.
    if (last === undefined || last[1] === 'carry') return false;
    // Each sum from the beginning is what the balance once was, so it is known exactly.
    const sumMicro = old.reduce((sum, [, , amountMicro]) => sum + amountMicro, 0);
    turnIntoCarry.run(sumMicro, last[0]);
    removeBefore.run(key, last[0]);
    return true;
  }

  const removeSome = database.prepare<[number, number]>(
    'DELETE FROM ledger WHERE seq IN (SELECT seq FROM ledger WHERE key = ? LIMIT ?)',
  );

  /** What a deleted key has left behind; returns whether there was anything. */
  function dropSome(key: number): boolean {
    return removeSome.run(key, CARRY_STEP).changes > 0;
  }

  return { credit, listLedger, carrySome };
}
