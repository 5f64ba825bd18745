import type { Database } from 'better-sqlite3';
import type { AccountId } from '../../contract/ids.ts';
import type { CreditEntry, LedgerEntry } from '../keys.ts';
import { addCredit, CARRY_STEP, ENTRY_COLUMNS, LOOK_AT_KEYS, toCarry } from '../book/ledger.ts';
import type { SqliteUnitOfWork } from './unit-of-work.ts';

export function prepareLedger(database: Database, unit: SqliteUnitOfWork) {
  const selectReference = database.prepare<[number, string]>('SELECT 1 FROM ledger WHERE key = ? AND reference = ?');
  const noteFunded = database.prepare<[number, number, number]>(
    'UPDATE keys SET funded_micro = ?, funded_at_ms = ? WHERE seq = ?',
  );
  const noteGroupFunded = database.prepare<[number, number, number]>(
    'UPDATE groups SET funded_micro = ?, funded_at_ms = ? WHERE seq = -?',
  );

  function credit(accountId: AccountId, entry: CreditEntry): 'credited' | 'repeated' | null {
    const { reference } = entry;
    const account = unit.funding.find(accountId);
    if (account === undefined) return null;
    const { seq } = account;
    if (reference !== undefined && selectReference.get(seq, reference) !== undefined) return 'repeated';
    const fundedMicro = addCredit(unit.funding, account, entry);
    (seq < 0 ? noteGroupFunded : noteFunded).run(fundedMicro, entry.createdAtMs, seq);
    return 'credited';
  }

  const selectPage = database.prepare<[number, number, number], LedgerEntry>(
    `SELECT ${ENTRY_COLUMNS} FROM ledger WHERE key = ? AND seq < ? ORDER BY seq DESC LIMIT ?`,
  );

  function listLedger(accountId: AccountId, beforeSeq: number, limit: number): readonly LedgerEntry[] | null {
    const account = unit.funding.find(accountId);
    return account === undefined ? null : selectPage.all(account.seq, beforeSeq, limit);
  }

  const selectNextKey = database
    .prepare<[number], number>('SELECT key FROM ledger WHERE key > ? ORDER BY key LIMIT 1')
    .pluck();

  function carrySome(afterKey: number, beforeMs: number): number | null {
    let after = afterKey;
    for (let looked = 0; looked < LOOK_AT_KEYS; looked += 1) {
      const key = selectNextKey.get(after);
      if (key === undefined) return null;
      const isChanged = unit.funding.of(key) === undefined ? dropSome(key) : carry(key, beforeMs);
      // The same key may have more entries to carry.
      if (isChanged) return key - 1;
      after = key;
    }
    return after;
  }

  const selectOldest = database.prepare<[number, number], LedgerEntry>(
    `SELECT ${ENTRY_COLUMNS} FROM ledger WHERE key = ? ORDER BY seq LIMIT ?`,
  );
  const turnIntoCarry = database.prepare<[number, number]>(
    `UPDATE ledger SET kind = 'carry', amount_micro = ?, request_id = NULL, note = '', reference = NULL WHERE seq = ?`,
  );
  const removeBefore = database.prepare<[number, number]>('DELETE FROM ledger WHERE key = ? AND seq < ?');

  function carry(key: number, beforeMs: number): boolean {
    const carry = toCarry(selectOldest.all(key, CARRY_STEP), beforeMs);
    if (carry === undefined) return false;
    turnIntoCarry.run(carry.amountMicro, carry.seq);
    removeBefore.run(key, carry.seq);
    return true;
  }

  const removeSome = database.prepare<[number, number]>(
    'DELETE FROM ledger WHERE seq IN (SELECT seq FROM ledger WHERE key = ? LIMIT ?)',
  );

  function dropSome(key: number): boolean {
    return removeSome.run(key, CARRY_STEP).changes > 0;
  }

  return { credit, listLedger, carrySome };
}
