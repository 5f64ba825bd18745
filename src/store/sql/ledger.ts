import type { LedgerEntry } from '../../core/books/keys.ts';
import { isGroupId } from '../../core/ids.ts';
import { addCredit, CARRY_STEP, ENTRY_COLUMNS, toCarry } from '../book/ledger.ts';
import { named, type Dialect } from './dialect.ts';
import { FIND_GROUP_SEQ } from './groups.ts';
import { FIND_KEY_SEQ } from './keys.ts';
import { changes, first, fundingOf, rows, send, type SteppedOperations, type Steps } from './steps.ts';

/** Keys and groups share the ledger; the numbers of groups are negative there. */
export function ledgerOperations(dialect: Dialect): SteppedOperations<'credit' | 'listLedger'> {
  const sql = ledgerStatements(dialect);
  return {
    *credit(accountId, entry) {
      const funding = yield* fundingOf([accountId]);
      const account = funding.find(accountId);
      if (account === undefined) return null;
      const { seq } = account;
      const { reference } = entry;
      if (reference !== undefined && (yield* first(sql.findReference, { seq, reference })) !== undefined)
        return 'repeated';
      const fundedMicro = addCredit(funding, account, entry);
      yield* send(seq < 0 ? sql.noteFundedGroup : sql.noteFundedKey, { fundedMicro, atMs: entry.createdAtMs, seq });
      return 'credited';
    },
    *listLedger(accountId, cursor, limit) {
      const find = isGroupId(accountId) ? sql.findGroupSeq : sql.findKeySeq;
      const account = yield* first<{ readonly seq: number }>(find, { id: accountId });
      if (account === undefined) return null;
      return yield* rows<LedgerEntry>('afterSeq' in cursor ? sql.listAfter : sql.list, {
        ...account,
        ...cursor,
        limit,
      });
    },
  };
}

type LedgerStatements = ReturnType<typeof ledgerStatements>;

/** Returns whether there is the account of this number, and no other gateway writes to it. */
export function* lockAccount(sql: LedgerStatements, key: number): Steps<boolean> {
  return (yield* first(key < 0 ? sql.lockGroup : sql.lockKey, { key })) !== undefined;
}

/** Combines the oldest entries of an account. Returns whether there were any to combine. */
export function* carry(sql: LedgerStatements, key: number, beforeMs: number): Steps<boolean> {
  const carried = toCarry(yield* rows<LedgerEntry>(sql.listOldest, { key, limit: CARRY_STEP }), beforeMs);
  if (carried === undefined) return false;
  yield* send(sql.turnIntoCarry, carried);
  yield* send(sql.removeBefore, { key, seq: carried.seq });
  return true;
}

/** Deletes some entries of an account that was deleted. Returns whether there may be more. */
export function* dropSome(sql: LedgerStatements, key: number): Steps<boolean> {
  return (yield* changes(sql.drop, { key, limit: CARRY_STEP })) === CARRY_STEP;
}

export function ledgerStatements({ locks }: Dialect) {
  return named('ledger', {
    findKeySeq: FIND_KEY_SEQ,
    findGroupSeq: FIND_GROUP_SEQ,
    noteFundedKey: 'UPDATE keys SET funded_micro = :fundedMicro, funded_at_ms = :atMs WHERE seq = :seq',
    noteFundedGroup: `
      UPDATE groups SET funded_micro = :fundedMicro, funded_at_ms = :atMs WHERE seq = -CAST(:seq AS BIGINT)`,
    findReference: 'SELECT 1 AS found FROM ledger WHERE key = :seq AND reference = :reference',
    list: `SELECT ${ENTRY_COLUMNS} FROM ledger WHERE key = :seq AND seq < :beforeSeq ORDER BY seq DESC LIMIT :limit`,
    listAfter: `SELECT ${ENTRY_COLUMNS} FROM ledger WHERE key = :seq AND seq > :afterSeq ORDER BY seq LIMIT :limit`,
    lockKey: `SELECT 1 AS found FROM keys WHERE seq = :key${locks.forAccount}`,
    lockGroup: `SELECT 1 AS found FROM groups WHERE seq = -CAST(:key AS BIGINT)${locks.forAccount}`,
    listOldest: `SELECT ${ENTRY_COLUMNS} FROM ledger WHERE key = :key ORDER BY seq LIMIT :limit`,
    turnIntoCarry: `
      UPDATE ledger SET kind = 'carry', amount_micro = :amountMicro, request_id = NULL, note = '', reference = NULL
      WHERE seq = :seq`,
    removeBefore: 'DELETE FROM ledger WHERE key = :key AND seq < :seq',
    drop: `
      DELETE FROM ledger WHERE seq IN (SELECT seq FROM ledger WHERE key = :key ORDER BY seq LIMIT :limit)`,
  });
}
