import type { LedgerEntry } from '../keys.ts';
import { addCredit, CARRY_STEP, ENTRY_COLUMNS, LOOK_AT_KEYS, toCarry } from '../book/ledger.ts';
import type { Operations } from '../queue/operations.ts';
import { openLockedUnit } from './unit-of-work.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import type { AccountId } from '../../contract/ids.ts';
import { isGroupId } from '../../core/ids.ts';
import type { Connection, Statement } from './pool.ts';

const FIND_KEY: Statement = { name: 'find_key_place', text: 'SELECT seq FROM keys WHERE key_id = $1' };
const FIND_GROUP: Statement = {
  name: 'find_group_place',
  text: 'SELECT -seq AS seq FROM groups WHERE group_id = $1',
};

const FIND_REFERENCE: Statement = {
  name: 'find_reference',
  text: 'SELECT 1 FROM ledger WHERE key = $1 AND reference = $2',
};

const NOTE_FUNDED: Statement = {
  name: 'note_funded_key',
  text: 'UPDATE keys SET funded_micro = $1, funded_at_ms = $2 WHERE seq = $3',
};

const NOTE_GROUP_FUNDED: Statement = {
  name: 'note_funded_group',
  text: 'UPDATE groups SET funded_micro = $1, funded_at_ms = $2 WHERE seq = -$3::bigint',
};

const LIST: Statement = {
  name: 'list_ledger',
  text: `SELECT ${ENTRY_COLUMNS} FROM ledger WHERE key = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3`,
};

const FIND_DELETED: Statement = {
  name: 'find_deleted_key',
  text: 'SELECT key FROM deleted_keys ORDER BY key LIMIT 1 FOR UPDATE SKIP LOCKED',
};

const DROP_ENTRIES: Statement = {
  name: 'drop_entries',
  text: 'DELETE FROM ledger WHERE seq IN (SELECT seq FROM ledger WHERE key = $1 ORDER BY seq LIMIT $2)',
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

const LIST_OLDEST: Statement = {
  name: 'list_oldest_entries',
  text: `SELECT ${ENTRY_COLUMNS} FROM ledger WHERE key = $1 ORDER BY seq LIMIT $2`,
};

const TURN_INTO_CARRY: Statement = {
  name: 'turn_into_carry',
  text: `UPDATE ledger SET kind = 'carry', amount_micro = $1, request_id = NULL, note = '', reference = NULL WHERE seq = $2`,
};

const REMOVE_BEFORE: Statement = {
  name: 'remove_entries_before',
  text: 'DELETE FROM ledger WHERE key = $1 AND seq < $2',
};

interface Candidate {
  readonly seq: number;
  readonly isDue: boolean;
}

export const LEDGER_LOOKUPS: Remote<Pick<Operations, 'listLedger'>> = {
  async listLedger(connection, accountId, beforeSeq, limit) {
    const seq = await findSeq(connection, accountId);
    return seq === null ? null : connection.rows<LedgerEntry>(LIST, [seq, beforeSeq, limit]);
  },
};

async function findSeq(connection: Connection, id: AccountId): Promise<number | null> {
  const [place] = await connection.rows<{ readonly seq: number }>(isGroupId(id) ? FIND_GROUP : FIND_KEY, [id]);
  return place?.seq ?? null;
}

export const LEDGER_CHANGES: RemoteChanges<Pick<Operations, 'credit' | 'carrySome'>> = {
  async credit(connection, accountId, entry) {
    const unit = openLockedUnit(connection);
    const account = await unit.loadById(accountId);
    if (account === undefined) return { result: null };
    if (entry.reference !== undefined) {
      const [repeated] = await connection.rows(FIND_REFERENCE, [account.seq, entry.reference]);
      if (repeated !== undefined) return { result: 'repeated' };
    }
    const fundedMicro = addCredit(unit.funding, account, entry);
    const noteFunded = account.seq < 0 ? NOTE_GROUP_FUNDED : NOTE_FUNDED;
    const noted = connection.changes(noteFunded, [fundedMicro, entry.createdAtMs, account.seq]);
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
  const dropped = await connection.changes(DROP_ENTRIES, [deleted.key, CARRY_STEP]);
  if (dropped < CARRY_STEP) await connection.changes(FORGET_DELETED, [deleted.key]);
  return true;
}

async function carry(connection: Connection, key: number, beforeMs: number): Promise<boolean> {
  const [locked] = await connection.rows(key < 0 ? LOCK_GROUP : LOCK_KEY, [key]);
  if (locked === undefined) return false;
  const oldest = await connection.rows<LedgerEntry>(LIST_OLDEST, [key, CARRY_STEP]);
  const carry = toCarry(oldest, beforeMs);
  if (carry === undefined) return false;
  await connection.changes(TURN_INTO_CARRY, [carry.amountMicro, carry.seq]);
  await connection.changes(REMOVE_BEFORE, [key, carry.seq]);
  return true;
}
