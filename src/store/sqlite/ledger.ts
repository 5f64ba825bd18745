import type { Database } from 'better-sqlite3';
import type { AccountId } from '../../contract/ids.ts';
import type { CreditEntry, LedgerEntry } from '../../core/books/keys.ts';
import { addCredit, CARRY_STEP, LOOK_AT_KEYS, toCarry, type LedgerPlace } from '../book/ledger.ts';
import { prepareNamed } from './named.ts';
import type { SqliteUnitOfWork } from './unit-of-work.ts';
import { ACCOUNTS } from './statements.ts';

interface Funded {
  readonly fundedMicro: number;
  readonly atMs: number;
  readonly seq: number;
}

export function prepareLedger(database: Database, unit: SqliteUnitOfWork) {
  const selectReference = prepareNamed<{ seq: number; reference: string }>(database, ACCOUNTS.findReference);
  const noteFunded = prepareNamed<Funded>(database, ACCOUNTS.noteFundedKey);
  const noteGroupFunded = prepareNamed<Funded>(database, ACCOUNTS.noteFundedGroup);

  function credit(accountId: AccountId, entry: CreditEntry): 'credited' | 'repeated' | null {
    const { reference } = entry;
    const account = unit.funding.find(accountId);
    if (account === undefined) return null;
    const { seq } = account;
    if (reference !== undefined && selectReference.get({ seq, reference }) !== undefined) return 'repeated';
    const fundedMicro = addCredit(unit.funding, account, entry);
    (seq < 0 ? noteGroupFunded : noteFunded).run({ fundedMicro, atMs: entry.createdAtMs, seq });
    return 'credited';
  }

  const selectBefore = prepareNamed<object, LedgerEntry>(database, ACCOUNTS.listLedger);
  const selectAfter = prepareNamed<object, LedgerEntry>(database, ACCOUNTS.listLedgerAfter);

  function listLedger(accountId: AccountId, place: LedgerPlace, limit: number): readonly LedgerEntry[] | null {
    const account = unit.funding.find(accountId);
    const select = 'afterSeq' in place ? selectAfter : selectBefore;
    return account === undefined ? null : select.all({ seq: account.seq, ...place, limit });
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

  const selectOldest = prepareNamed<{ key: number; limit: number }, LedgerEntry>(database, ACCOUNTS.listOldestEntries);
  const turnIntoCarry = prepareNamed<{ amountMicro: number; seq: number }>(database, ACCOUNTS.turnIntoCarry);
  const removeBefore = prepareNamed<{ key: number; seq: number }>(database, ACCOUNTS.removeEntriesBefore);

  function carry(key: number, beforeMs: number): boolean {
    const carry = toCarry(selectOldest.all({ key, limit: CARRY_STEP }), beforeMs);
    if (carry === undefined) return false;
    turnIntoCarry.run(carry);
    removeBefore.run({ key, seq: carry.seq });
    return true;
  }

  const removeSome = prepareNamed<{ key: number; limit: number }>(database, ACCOUNTS.dropEntries);

  function dropSome(key: number): boolean {
    return removeSome.run({ key, limit: CARRY_STEP }).changes > 0;
  }

  return { credit, listLedger, carrySome };
}
