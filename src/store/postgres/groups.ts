import type { GroupId } from '../../contract/ids.ts';
import type { Operations } from '../queue/operations.ts';
import { CHANGED_GROUP_COLUMNS, GROUP_COLUMNS, type GroupRow } from '../rows/keys.ts';
import { LOCK_NAMES, NOTE_DELETED } from './keys.ts';
import { toJson, type Connection, type Statement } from './pool.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import { openLockedUnit } from './unit-of-work.ts';

const FIND: Statement = {
  name: 'find_groups',
  text: `SELECT ${GROUP_COLUMNS} FROM groups WHERE group_id = ANY($1::text[])`,
};

const LIST: Statement = {
  name: 'list_groups',
  text: `
    SELECT ${GROUP_COLUMNS} FROM groups
    WHERE ($1::text IS NULL OR seq < (SELECT seq FROM groups WHERE group_id = $1)) AND ($2::text IS NULL OR name = $2)
      AND ($4::text IS NULL OR strpos(lower(name), $4) > 0 OR group_id = $4)
    ORDER BY seq DESC LIMIT $3`,
};

const FIND_NAMED: Statement = {
  name: 'find_named_group',
  text: 'SELECT FROM groups WHERE name = $1 AND group_id <> $2',
};

const INSERT: Statement = {
  name: 'insert_group',
  text: `
    INSERT INTO groups (group_id, name, created_at_ms, expires_at_ms, models, requests_per_minute, tokens_per_minute,
      spend_per_day_micro, spend_per_month_micro, balance_micro, funded_micro, funded_at_ms)
    SELECT d->>'groupId', d->>'name', (d->>'createdAtMs')::bigint, (d->>'expiresAtMs')::bigint, d->>'models',
      (d->>'requestsPerMinute')::bigint, (d->>'tokensPerMinute')::bigint, (d->>'spendPerDayMicro')::bigint,
      (d->>'spendPerMonthMicro')::bigint, (d->>'creditsMicro')::bigint,
      (d->>'creditsMicro')::bigint, (d->>'createdAtMs')::bigint
    FROM jsonb_array_elements($1::jsonb) AS d
    RETURNING ${GROUP_COLUMNS}`,
};

const UPDATES = Object.entries(CHANGED_GROUP_COLUMNS).map(([column, valueOf]) => ({
  valueOf,
  statement: { name: `update_group_${column}`, text: `UPDATE groups SET ${column} = $1 WHERE group_id = $2` },
}));

// No key can come to the group after this.
const LOCK: Statement = {
  name: 'lock_group_to_delete',
  text: 'SELECT FROM groups WHERE group_id = $1 FOR UPDATE',
};

const FIND_MEMBER: Statement = { name: 'find_key_of_group', text: 'SELECT FROM keys WHERE group_id = $1 LIMIT 1' };

const DELETE: Statement = {
  name: 'delete_group',
  text: 'DELETE FROM groups WHERE group_id = $1 RETURNING -seq AS seq',
};

export const GROUP_LOOKUPS: Remote<Pick<Operations, 'findGroups' | 'listGroups'>> = {
  findGroups: (connection, groupIds) => connection.rows<GroupRow>(FIND, [groupIds]),
  async listGroups(connection, limit, after, { name, search }) {
    if (after !== null && (await findGroup(connection, after)) === null) return null;
    return connection.rows<GroupRow>(LIST, [after, name, limit, search]);
  },
};

async function findGroup(connection: Connection, groupId: GroupId): Promise<GroupRow | null> {
  const [row] = await connection.rows<GroupRow>(FIND, [[groupId]]);
  return row ?? null;
}

async function isTaken(connection: Connection, name: string, groupId: GroupId): Promise<boolean> {
  await connection.rows(LOCK_NAMES);
  return (await connection.rows(FIND_NAMED, [name, groupId])).length > 0;
}

export const GROUP_CHANGES: RemoteChanges<Pick<Operations, 'createGroup' | 'updateGroup' | 'deleteGroup'>> = {
  async createGroup(connection, draft) {
    const { groupId, name, createdAtMs, creditsMicro } = draft;
    if (await isTaken(connection, name, groupId)) return { result: 'name taken' };
    const [row] = await connection.rows<GroupRow>(INSERT, [toJson([draft])]);
    const unit = openLockedUnit(connection);
    const account = await unit.loadById(groupId);
    if (row === undefined || account === undefined) throw new Error('a group that was inserted was not found');
    unit.funding.enter({ key: account.seq, kind: 'grant', amountMicro: creditsMicro ?? 0, createdAtMs });
    return { result: row, last: unit.flush() };
  },
  async updateGroup(connection, groupId, change) {
    if (change.name !== undefined && (await isTaken(connection, change.name, groupId))) {
      return { result: 'name taken' };
    }
    const changes = UPDATES.flatMap(({ valueOf, statement }) => {
      const value = valueOf(change);
      return value === undefined ? [] : [connection.changes(statement, [value, groupId])];
    });
    await Promise.all(changes);
    return { result: await findGroup(connection, groupId) };
  },
  async deleteGroup(connection, groupId) {
    if ((await connection.rows(LOCK, [groupId])).length === 0) return { result: null };
    if ((await connection.rows(FIND_MEMBER, [groupId])).length > 0) return { result: 'has keys' };
    const [deleted] = await connection.rows<{ readonly seq: number }>(DELETE, [groupId]);
    return { result: 'deleted', last: [connection.changes(NOTE_DELETED, [deleted?.seq])] };
  },
};
