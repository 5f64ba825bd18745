import type { LedgerEntry } from '../../core/books/keys.ts';
import { addCredit, CARRY_STEP, LOOK_AT_KEYS, toCarry } from '../book/ledger.ts';
import { findSeq } from './keys.ts';
import { openLockedUnit } from './unit-of-work.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import { isGroupId } from '../../core/ids.ts';
import type { Connection, Statement } from './pool.ts';
import { ACCOUNTS } from './statements.ts';

const FIND_DELETED: Statement = {
  name: 'find_deleted_key',
  text: 'SELECT key FROM deleted_keys ORDER BY key LIMIT 1 FOR UPDATE SKIP LOCKED',
};

const FORGET_DELETED: Statement = { name: 'forget_deleted_key', text: 'DELETE FROM deleted_keys WHERE key = $1' };

// Only the two oldest entries matter: the first, or the second when the first is a carry.
const FIND_CARRIES: Statement = {
  name: 'find_carries',
  text: `
    SELECT accounts.seq, EXISTS (
      SELECT FROM (SELECT kind, created_at_ms FROM ledger WHERE key = accounts.seq ORDER BY seq LIMIT 2) AS oldest
      WHERE kind <> 'carry' AND created_at_ms < $2) AS "isDue"
    FROM (SELECT seq FROM keys UNION ALL SELECT -seq FROM groups) AS accounts
    WHERE accounts.seq > $1 ORDER BY accounts.seq LIMIT $3`,
};

// Every writer of entries holds the lock of the row of the key or the group.
const LOCK_KEY: Statement = {
  name: 'lock_key_if_free',
  text: 'SELECT seq FROM keys WHERE seq = $1 FOR NO KEY UPDATE SKIP LOCKED',
};

const LOCK_GROUP: Statement = {
  name: 'lock_group_if_free',
  text: 'SELECT seq FROM groups WHERE seq = -$1::bigint FOR NO KEY UPDATE SKIP LOCKED',
};

interface Candidate {
  readonly seq: number;
  readonly isDue: boolean;
}

export const LEDGER_LOOKUPS: Remote<'listLedger'> = {
  async listLedger(connection, accountId, place, limit) {
    const find = isGroupId(accountId) ? ACCOUNTS.findGroupSeq : ACCOUNTS.findKeySeq;
    const seq = await findSeq(connection, find, accountId);
    const list = 'afterSeq' in place ? ACCOUNTS.listLedgerAfter : ACCOUNTS.listLedger;
    return seq === null ? null : connection.rows<LedgerEntry>(list, { seq, ...place, limit });
  },
};

export const LEDGER_CHANGES: RemoteChanges<'credit' | 'carrySome'> = {
  async credit(connection, accountId, entry) {
    const unit = openLockedUnit(connection);
    const account = await unit.loadById(accountId);
    if (account === undefined) return { result: null };
    const { seq } = account;
    if (entry.reference !== undefined) {
      const [repeated] = await connection.rows(ACCOUNTS.findReference, { seq, reference: entry.reference });
      if (repeated !== undefined) return { result: 'repeated' };
    }
    const fundedMicro = addCredit(unit.funding, account, entry);
    const noteFunded = seq < 0 ? ACCOUNTS.noteFundedGroup : ACCOUNTS.noteFundedKey;
    const noted = connection.changes(noteFunded, { fundedMicro, atMs: entry.createdAtMs, seq });
    return { result: 'credited', last: [noted, ...unit.flush()] };
  },
  async carrySome(connection, afterKey, beforeMs) {
    if (await dropSome(connection)) return { result: afterKey };
    const looked = await connection.rows<Candidate>(FIND_CARRIES, [afterKey, beforeMs, LOOK_AT_KEYS]);
    const key = looked.find(({ isDue }) => isDue)?.seq;
    if (key === undefined) return { result: looked.length < LOOK_AT_KEYS ? null : (looked.at(-1)?.seq ?? null) };
    // The same key may have more entries to carry.
    return { result: (await carry(connection, key, beforeMs)) ? key - 1 : key };
  },
};

async function dropSome(connection: Connection): Promise<boolean> {
  const [deleted] = await connection.rows<{ readonly key: number }>(FIND_DELETED);
  if (deleted === undefined) return false;
  const dropped = await connection.changes(ACCOUNTS.dropEntries, { key: deleted.key, limit: CARRY_STEP });
  if (dropped < CARRY_STEP) await connection.changes(FORGET_DELETED, [deleted.key]);
  return true;
}

async function carry(connection: Connection, key: number, beforeMs: number): Promise<boolean> {
  const [locked] = await connection.rows(key < 0 ? LOCK_GROUP : LOCK_KEY, [key]);
  if (locked === undefined) return false;
  const oldest = await connection.rows<LedgerEntry>(ACCOUNTS.listOldestEntries, { key, limit: CARRY_STEP });
  const carry = toCarry(oldest, beforeMs);
  if (carry === undefined) return false;
  await connection.changes(ACCOUNTS.turnIntoCarry, { ...carry });
  await connection.changes(ACCOUNTS.removeEntriesBefore, { key, seq: carry.seq });
  return true;
}
