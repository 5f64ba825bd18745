import type { KeyId } from '../../contract/ids.ts';
import { GROUP_ACCOUNT_COLUMNS, KEY_ACCOUNT_COLUMNS } from '../book/unit-of-work.ts';
import { isGroupId } from '../../core/ids.ts';
import type { Operations } from '../queue/operations.ts';
import { CHANGED_COLUMNS, IS_OF_PREVIOUS, KEY_COLUMNS, type Conflict, type KeyRow } from '../rows/keys.ts';
import type { KeyChange } from '../keys.ts';
import { standingOf } from '../../core/money/rates.ts';
import { CLOCK_MS, openLockedUnit, type LockedAccount } from './unit-of-work.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import { toJson, type Connection, type Statement } from './pool.ts';

const FIND_KEY: Statement = { name: 'find_key', text: `SELECT ${KEY_COLUMNS} FROM keys WHERE key_id = $1` };

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

const FIND_SEQ: Statement = { name: 'find_key_place', text: 'SELECT seq FROM keys WHERE key_id = $1' };

const LIST: Statement = {
  name: 'list_keys',
  text: `
    SELECT ${KEY_COLUMNS} FROM keys WHERE seq < $1 AND ($3::text IS NULL OR name = $3)
      AND ($4::text IS NULL OR group_id = $4)
      AND ($6::int = 0 OR ${IS_OF_PREVIOUS})
      AND ($5::text IS NULL OR strpos(lower(name), $5) > 0 OR lower(prefix) = $5 OR key_id = $5)
    ORDER BY seq DESC LIMIT $2`,
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

const INSERT: Statement = {
  name: 'insert_key',
  text: `
    INSERT INTO keys (key_id, group_id, hash, prefix, name, created_at_ms, expires_at_ms, models, requests_per_minute,
      tokens_per_minute, spend_per_day_micro, spend_per_month_micro, balance_micro, funded_micro, funded_at_ms, mark)
    SELECT d->>'keyId', d->>'groupId', d->>'hash', d->>'prefix', d->>'name', (d->>'createdAtMs')::bigint, (d->>'expiresAtMs')::bigint,
      d->>'models', (d->>'requestsPerMinute')::bigint, (d->>'tokensPerMinute')::bigint,
      (d->>'spendPerDayMicro')::bigint, (d->>'spendPerMonthMicro')::bigint, (d->>'creditsMicro')::bigint,
      (d->>'creditsMicro')::bigint, (d->>'createdAtMs')::bigint, d->>'mark'
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS drafts (d, place) ORDER BY place
    RETURNING ${KEY_COLUMNS}`,
};

const REHASH: Statement = {
  name: 'rehash_key',
  text: `
    UPDATE keys SET hash = CASE hash WHEN $1 THEN $2 ELSE hash END,
      former_hash = CASE former_hash WHEN $1 THEN $2 ELSE former_hash END,
      mark = CASE hash WHEN $1 THEN $3 ELSE mark END
    WHERE hash = $1 OR former_hash = $1`,
};

const ROTATE: Statement = {
  name: 'rotate_key',
  text: `
    UPDATE keys SET former_hash = hash, hash = $1, prefix = $2, former_until_ms = $3, mark = $5 WHERE key_id = $4
    RETURNING ${KEY_COLUMNS}`,
};

const UPDATES = Object.entries(CHANGED_COLUMNS).map(([column, valueOf]) => ({
  valueOf,
  statement: { name: `update_key_${column}`, text: `UPDATE keys SET ${column} = $1 WHERE key_id = $2` },
}));

const DELETE: Statement = {
  name: 'delete_keys',
  text: 'DELETE FROM keys WHERE key_id = ANY($1::text[]) RETURNING seq',
};

export const NOTE_DELETED: Statement = { name: 'note_deleted_key', text: 'INSERT INTO deleted_keys (key) VALUES ($1)' };

export const KEY_LOOKUPS: Remote<Pick<Operations, 'findKey' | 'findKeyByHash' | 'listKeys' | 'findRate'>> = {
  async findKey(connection, keyId) {
    const [row] = await connection.rows<KeyRow>(FIND_KEY, [keyId]);
    return row ?? null;
  },
  async findKeyByHash(connection, hashes, nowMs) {
    const [found] = await connection.rows<KeyRow & { readonly hash: string }>(FIND_BY_HASH, [hashes, nowMs]);
    if (found === undefined) return null;
    const { hash, ...key } = found;
    return { hash, key };
  },
  async listKeys(connection, limit, after, { name, groupId, search, isOfPrevious }) {
    const beforeSeq = after === null ? Number.MAX_SAFE_INTEGER : await findSeq(connection, after);
    return beforeSeq === null
      ? null
      : connection.rows<KeyRow>(LIST, [beforeSeq, limit, name, groupId, search, isOfPrevious]);
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

/** Returns the number of a key, which is never reused; null when there is no such key. */
async function findSeq(connection: Connection, keyId: KeyId): Promise<number | null> {
  const [place] = await connection.rows<Place>(FIND_SEQ, [keyId]);
  return place?.seq ?? null;
}

/** Holds until the transaction ends, so that no other change makes the answer wrong. */
async function conflictOf(
  connection: Connection,
  keyIds: readonly KeyId[],
  changes: readonly Pick<KeyChange, 'name' | 'groupId'>[],
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

type KeyChangeName = 'createKeys' | 'rehashKey' | 'updateKey' | 'rotateKey' | 'deleteKeys';

export const KEY_CHANGES: RemoteChanges<Pick<Operations, KeyChangeName>> = {
  async createKeys(connection, drafts) {
    const accountIds = drafts.map(({ keyId }) => keyId);
    const conflict = await conflictOf(connection, accountIds, drafts);
    if (conflict !== undefined) return { result: conflict };
    const rows = await connection.rows<KeyRow>(INSERT, [toJson(drafts)]);
    const unit = openLockedUnit(connection);
    await unit.load({ keys: [], groupIds: [], accountIds });
    for (const { keyId, createdAtMs } of drafts) {
      const account = unit.funding.find(keyId);
      if (account === undefined) throw new Error('a key that was inserted was not found');
      unit.funding.enter({ key: account.seq, kind: 'grant', amountMicro: account.balanceMicro ?? 0, createdAtMs });
    }
    return { result: rows, last: unit.flush() };
  },
  async rehashKey(connection, from, to, mark) {
    return { result: null, last: [connection.changes(REHASH, [from, to, mark])] };
  },
  async updateKey(connection, keyId, change) {
    const conflict = await conflictOf(connection, [keyId], [change]);
    if (conflict !== undefined) return { result: conflict };
    const changes = UPDATES.flatMap(({ valueOf, statement }) => {
      const value = valueOf(change);
      return value === undefined ? [] : [connection.changes(statement, [value, keyId])];
    });
    await Promise.all(changes);
    const [row] = await connection.rows<KeyRow>(FIND_KEY, [keyId]);
    return { result: row ?? null };
  },
  async rotateKey(connection, keyId, hash, mark, prefix, formerUntilMs) {
    const [row] = await connection.rows<KeyRow>(ROTATE, [hash, prefix, formerUntilMs, keyId, mark]);
    return { result: row ?? null };
  },
  async deleteKeys(connection, keyIds) {
    const deleted = await connection.rows<Place>(DELETE, [keyIds]);
    return { result: deleted.length, last: deleted.map(({ seq }) => connection.changes(NOTE_DELETED, [seq])) };
  },
};
