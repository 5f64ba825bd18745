import type { AccountId, KeyId } from '../../contract/ids.ts';
import { GROUP_ACCOUNT_COLUMNS, KEY_ACCOUNT_COLUMNS } from '../book/unit-of-work.ts';
import { isGroupId } from '../../core/ids.ts';
import { KEY_COLUMNS, type Conflict, type KeyRow } from '../rows/keys.ts';
import { KEY_UPDATES } from '../sql/accounts.ts';
import type { KeyPlace } from '../../core/books/keys.ts';
import { standingOf } from '../../core/money/rates.ts';
import { CLOCK_MS, openLockedUnit, type LockedAccount } from './unit-of-work.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import type { Connection, Statement } from './pool.ts';
import { ACCOUNTS, toNumbered } from './statements.ts';

const UPDATES = KEY_UPDATES.map(({ valueOf, statement }) => ({ valueOf, statement: toNumbered(statement) }));

// One statement looks for all hashes, because another gateway may replace a hash between two
// statements.
const FIND_BY_HASH: Statement = {
  name: 'find_key_by_hashes',
  text: `
    SELECT CASE WHEN hash = ANY($1::text[]) THEN hash ELSE former_hash END AS hash, ${KEY_COLUMNS} FROM keys
    WHERE hash = ANY($1::text[]) OR (former_hash = ANY($1::text[]) AND former_until_ms > $2)
    LIMIT 1`,
};

const FIND_RATE: Statement = {
  name: 'find_rate',
  text: `SELECT ${KEY_ACCOUNT_COLUMNS}, ${CLOCK_MS} FROM keys WHERE key_id = $1`,
};

const FIND_GROUP_RATE: Statement = {
  name: 'find_group_rate',
  text: `SELECT ${GROUP_ACCOUNT_COLUMNS}, ${CLOCK_MS} FROM groups WHERE group_id = $1`,
};

/** "Requ": no other program on the same database uses it for a lock. */
const NAMES_LOCK = 0x52_65_71_75;
// Two gateways that give one name at the same time take turns.
export const LOCK_NAMES: Statement = { name: 'lock_names', text: `SELECT pg_advisory_xact_lock(${NAMES_LOCK})` };
const FIND_NAMED: Statement = {
  name: 'find_named_keys',
  text: 'SELECT FROM keys WHERE name = ANY($1::text[]) AND key_id <> ALL($2::text[]) LIMIT 1',
};
const LOCK_GROUPS: Statement = {
  name: 'share_groups',
  text: 'SELECT FROM groups WHERE group_id = ANY($1::text[]) ORDER BY seq FOR KEY SHARE',
};

const DELETE: Statement = {
  name: 'delete_keys',
  text: 'DELETE FROM keys WHERE key_id = ANY($1::text[]) RETURNING seq',
};

export const NOTE_DELETED: Statement = { name: 'note_deleted_key', text: 'INSERT INTO deleted_keys (key) VALUES ($1)' };

export const KEY_LOOKUPS: Remote<'findKey' | 'findKeyByHash' | 'listKeys' | 'findRate'> = {
  async findKey(connection, keyId) {
    const [row] = await connection.rows<KeyRow>(ACCOUNTS.findKey, { id: keyId });
    return row ?? null;
  },
  async findKeyByHash(connection, hashes, nowMs) {
    const [found] = await connection.rows<KeyRow & { readonly hash: string }>(FIND_BY_HASH, [hashes, nowMs]);
    if (found === undefined) return null;
    const { hash, ...key } = found;
    return { hash, key };
  },
  async listKeys(connection, limit, after, filter) {
    const beforeSeq = after === null ? Number.MAX_SAFE_INTEGER : await findSeq(connection, ACCOUNTS.findKeySeq, after);
    if (beforeSeq === null) return null;
    const list = filter.name === null ? ACCOUNTS.listKeys : ACCOUNTS.listNamedKeys;
    return connection.rows<KeyRow>(list, { ...filter, beforeSeq, limit });
  },
  async findRate(connection, accountId) {
    const statement = isGroupId(accountId) ? FIND_GROUP_RATE : FIND_RATE;
    const [account] = await connection.rows<LockedAccount>(statement, [accountId]);
    return account === undefined ? null : standingOf(account, account.clockMs);
  },
};

interface Place {
  readonly seq: number;
}

/** Returns the number of an account, which is never reused; null when there is no such account. */
export async function findSeq(connection: Connection, statement: Statement, id: AccountId): Promise<number | null> {
  const [place] = await connection.rows<Place>(statement, { id });
  return place?.seq ?? null;
}

/** Holds until the transaction ends, so that no other change makes the answer wrong. */
async function conflictOf(
  connection: Connection,
  keyIds: readonly KeyId[],
  changes: readonly KeyPlace[],
): Promise<Conflict | undefined> {
  const names = changes.flatMap(({ name }) => name ?? []);
  const groupIds = [...new Set(changes.flatMap(({ groupId }) => groupId ?? []))];
  if (names.length > 0) {
    await connection.rows(LOCK_NAMES);
    if ((await connection.rows(FIND_NAMED, [names, keyIds])).length > 0) return 'name taken';
  }
  if (groupIds.length === 0) return undefined;
  return (await connection.rows(LOCK_GROUPS, [groupIds])).length < groupIds.length ? 'no group' : undefined;
}

/** All inserts are sent at once, in their order. */
async function insertAll<Row extends object>(
  connection: Connection,
  statement: Statement,
  drafts: readonly object[],
): Promise<readonly Row[]> {
  return (await Promise.all(drafts.map((draft) => connection.rows<Row>(statement, { ...draft })))).flat();
}

type KeyChangeName = 'createKeys' | 'rehashKey' | 'updateKey' | 'rotateKey' | 'deleteKeys';

export const KEY_CHANGES: RemoteChanges<KeyChangeName> = {
  async createKeys(connection, drafts) {
    const accountIds = drafts.map(({ keyId }) => keyId);
    const conflict = await conflictOf(connection, accountIds, drafts);
    if (conflict !== undefined) return { result: conflict };
    const rows = await insertAll<KeyRow>(connection, ACCOUNTS.insertKey, drafts);
    const unit = openLockedUnit(connection);
    await unit.load({ accountIds });
    for (const { keyId, createdAtMs } of drafts) {
      const account = unit.funding.find(keyId);
      if (account === undefined) throw new Error('a key that was inserted was not found');
      unit.funding.enter({ key: account.seq, kind: 'grant', amountMicro: account.balanceMicro ?? 0, createdAtMs });
    }
    return { result: rows, last: unit.flush() };
  },
  async rehashKey(connection, from, to, mark) {
    return { result: null, last: [connection.changes(ACCOUNTS.rehashKey, { from, to, mark })] };
  },
  async updateKey(connection, keyId, change) {
    const conflict = await conflictOf(connection, [keyId], [change]);
    if (conflict !== undefined) return { result: conflict };
    const changes = UPDATES.flatMap(({ valueOf, statement }) => {
      const value = valueOf(change);
      return value === undefined ? [] : [connection.changes(statement, { value, id: keyId })];
    });
    await Promise.all(changes);
    const [row] = await connection.rows<KeyRow>(ACCOUNTS.findKey, { id: keyId });
    return { result: row ?? null };
  },
  async rotateKey(connection, keyId, hash, mark, prefix, formerUntilMs) {
    const [row] = await connection.rows<KeyRow>(ACCOUNTS.rotateKey, { hash, prefix, formerUntilMs, keyId, mark });
    return { result: row ?? null };
  },
  async deleteKeys(connection, keyIds) {
    const deleted = await connection.rows<Place>(DELETE, [keyIds]);
    return { result: deleted.length, last: deleted.map(({ seq }) => connection.changes(NOTE_DELETED, [seq])) };
  },
};
