import { CARRY_STEP, KEY_COLUMNS, LOOK_AT_KEYS, type KeyRow, type LedgerRow } from '../shared/key-rows.ts';
import type { Operations } from '../shared/operations.ts';
import { credit } from '../shared/funds.ts';
import { openLockedBooks } from './unit-of-work.ts';
import type { Remote, RemoteChanges } from './engine.ts';
import type { Connection, Statement } from './pool.ts';

const FIND_KEY: Statement = { name: 'find_key', text: `SELECT ${KEY_COLUMNS} FROM keys WHERE key_id = $1` };

const FIND_PLACE: Statement = { name: 'find_key_place', text: 'SELECT seq FROM keys WHERE key_id = $1' };

const FIND_REFERENCE: Statement = {
  name: 'find_reference',
  text: 'SELECT 1 FROM ledger WHERE key = $1 AND reference = $2',
};

const ENTRY_COLUMNS = 'seq, kind, amount_micro, request_id, note, created_at_ms, reference';

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

// Of the two oldest entries one is worth carrying: the first, or the second when the first is the carry of an earlier time.
const FIND_CARRIES: Statement = {
  name: 'find_carries',
  text: `
    SELECT keys.seq, EXISTS (
      SELECT FROM (SELECT kind, created_at_ms FROM ledger WHERE key = keys.seq ORDER BY seq LIMIT 2) AS oldest
      WHERE kind <> 'carry' AND created_at_ms < $2)
    FROM keys WHERE keys.seq > $1 ORDER BY keys.seq LIMIT $3`,
};

// Whoever writes entries of a key has its row locked.
const LOCK_KEY: Statement = {
  name: 'lock_key_if_free',
  text: 'SELECT seq FROM keys WHERE seq = $1 FOR NO KEY UPDATE SKIP LOCKED',
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

export const LEDGER_LOOKUPS: Remote<Pick<Operations, 'listLedger'>> = {
  async listLedger(connection, keyId, beforeSeq, limit) {
    const [place] = await connection.rows<[number]>(FIND_PLACE, [keyId]);
    return place === undefined ? null : connection.rows<LedgerRow>(LIST, [place[0], beforeSeq, limit]);
  },
};

/** The entries which add up to the balance of a prepaid key. */
export const LEDGER_CHANGES: RemoteChanges<Pick<Operations, 'credit' | 'carrySome'>> = {
  async credit(connection, keyId, { kind, amountMicro, note, reference, createdAtMs }) {
    const books = openLockedBooks(connection);
    const account = await books.loadById(keyId);
    if (account === undefined) return { result: null };
    const { seq } = account;
    if (reference !== undefined) {
      const [repeated] = await connection.rows(FIND_REFERENCE, [seq, reference]);
      if (repeated !== undefined) return { result: 'repeated' };
    }
    const credited = credit(account, amountMicro);
    books.funding.write(seq, credited.funds);
    books.funding.enter(seq, kind, amountMicro, null, note, createdAtMs, reference);
    books.funding.enter(seq, 'reserve', -credited.reservedMicro, null, 'held when it became prepaid', createdAtMs);
    await Promise.all(books.write());
    const [row] = await connection.rows<KeyRow>(FIND_KEY, [keyId]);
    return { result: row ?? null };
  },
  async carrySome(connection, afterKey, beforeMs) {
    if (await dropSome(connection)) return { result: afterKey };
    const looked = await connection.rows<[number, boolean]>(FIND_CARRIES, [afterKey, beforeMs, LOOK_AT_KEYS]);
    const key = looked.find(([, isDue]) => isDue)?.[0];
    if (key === undefined) return { result: looked.length < LOOK_AT_KEYS ? null : (looked.at(-1)?.[0] ?? null) };
    // There may be more of this key.
    return { result: (await carry(connection, key, beforeMs)) ? key - 1 : key };
  },
};

/** Of what a deleted key has left behind; returns whether there was anything. */
async function dropSome(connection: Connection): Promise<boolean> {
  const [deleted] = await connection.rows<[number]>(FIND_DELETED);
  if (deleted === undefined) return false;
  const dropped = await connection.changes(DROP_ENTRIES, [deleted[0], CARRY_STEP]);
  if (dropped < CARRY_STEP) await connection.changes(FORGET_DELETED, deleted);
  return true;
}

/**
 * Makes one entry of the oldest ones, an earlier carry among them, so that the sum stays what it was. A reservation may
 * be carried while its request still runs: the release which will follow is an entry of its own. Returns whether
 * anything was changed.
 */
async function carry(connection: Connection, key: number, beforeMs: number): Promise<boolean> {
  const [locked] = await connection.rows<[number]>(LOCK_KEY, [key]);
  if (locked === undefined) return false;
  const oldest = await connection.rows<LedgerRow>(LIST_OLDEST, [key, CARRY_STEP]);
  const firstYoung = oldest.findIndex(([, , , , , createdAtMs]) => createdAtMs >= beforeMs);
  const old = firstYoung === -1 ? oldest : oldest.slice(0, firstYoung);
  const last = old.at(-1);
  // A carry is the first entry, so that one which is also the last stands alone.
  if (last === undefined || last[1] === 'carry') return false;
  // Each sum from the beginning is what the balance once was, so it is known exactly.
  const sumMicro = old.reduce((sum, [, , amountMicro]) => sum + amountMicro, 0);
  await connection.changes(TURN_INTO_CARRY, [sumMicro, last[0]]);
  await connection.changes(REMOVE_BEFORE, [key, last[0]]);
  return true;
}
