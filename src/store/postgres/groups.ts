import type { GroupId } from '../../contract/ids.ts';
import type { GroupRow } from '../rows/keys.ts';
import { WHOLE_GATEWAY } from '../../core/ids.ts';
import { GROUP_UPDATES, wholeSince } from '../sql/accounts.ts';
import { findSeq, LOCK_NAMES, NOTE_DELETED } from './keys.ts';
import type { Connection, Statement } from './pool.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import { openLockedUnit } from './unit-of-work.ts';
import { ACCOUNTS, toNumbered } from './statements.ts';

const UPDATES = GROUP_UPDATES.map(({ valueOf, statement }) => ({ valueOf, statement: toNumbered(statement) }));

// No key can come to the group after this.
const LOCK: Statement = {
  name: 'lock_group_to_delete',
  text: 'SELECT FROM groups WHERE group_id = $1 FOR UPDATE',
};

// Nobody takes or settles a hold while those that there are are counted.
const STOP_RECORDS: Statement = { name: 'stop_records', text: 'LOCK TABLE requests IN EXCLUSIVE MODE' };

const FIND_MEMBER: Statement = { name: 'find_key_of_group', text: 'SELECT FROM keys WHERE group_id = $1 LIMIT 1' };

const DELETE: Statement = {
  name: 'delete_group',
  text: 'DELETE FROM groups WHERE group_id = $1 RETURNING -seq AS seq',
};

export const GROUP_LOOKUPS: Remote<'findGroups' | 'listGroups'> = {
  async findGroups(connection, groupIds) {
    return (await Promise.all(groupIds.map((id) => connection.rows<GroupRow>(ACCOUNTS.findGroup, { id })))).flat();
  },
  async listGroups(connection, limit, after, filter) {
    const afterSeq = after === null ? Number.MIN_SAFE_INTEGER : await findSeq(connection, ACCOUNTS.findGroupSeq, after);
    return afterSeq === null ? null : connection.rows<GroupRow>(ACCOUNTS.listGroups, { ...filter, afterSeq, limit });
  },
};

async function findGroup(connection: Connection, groupId: GroupId): Promise<GroupRow | null> {
  const [row] = await connection.rows<GroupRow>(ACCOUNTS.findGroup, { id: groupId });
  return row ?? null;
}

async function isTaken(connection: Connection, name: string, groupId: GroupId): Promise<boolean> {
  await connection.rows(LOCK_NAMES);
  return (await connection.rows(ACCOUNTS.findNamedGroup, { name, groupId })).length > 0;
}

export const GROUP_CHANGES: RemoteChanges<'createGroup' | 'updateGroup' | 'deleteGroup'> = {
  async createGroup(connection, draft, today) {
    const { groupId, name, createdAtMs, creditsMicro } = draft;
    if (groupId === WHOLE_GATEWAY) await connection.rows(STOP_RECORDS);
    if (await isTaken(connection, name, groupId)) return { result: 'name taken' };
    const [row] = await connection.rows<GroupRow>(ACCOUNTS.insertGroup, { ...draft });
    if (groupId === WHOLE_GATEWAY) await connection.changes(ACCOUNTS.countWhole, wholeSince(today));
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
      return value === undefined ? [] : [connection.changes(statement, { value, id: groupId })];
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
