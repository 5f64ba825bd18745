import type { GroupChange } from '../keys.ts';
import type { Database } from 'better-sqlite3';
import type { GroupId } from '../../contract/ids.ts';
import {
  CHANGED_GROUP_COLUMNS,
  GROUP_COLUMNS,
  type Conflict,
  type GroupDraftRow,
  type GroupFilter,
  type GroupRow,
} from '../rows/keys.ts';
import type { Funding } from '../book/unit-of-work.ts';

export function prepareGroups(database: Database, funding: Funding) {
  const insert = database.prepare<[GroupDraftRow], GroupRow>(`
    INSERT INTO groups (group_id, name, created_at_ms, expires_at_ms, models, requests_per_minute, tokens_per_minute,
      spend_per_day_micro, spend_per_month_micro, balance_micro, funded_micro, funded_at_ms)
    VALUES (:groupId, :name, :createdAtMs, :expiresAtMs, :models, :requestsPerMinute, :tokensPerMinute,
      :spendPerDayMicro, :spendPerMonthMicro, :creditsMicro, :creditsMicro, :createdAtMs)
    RETURNING ${GROUP_COLUMNS}`);
  const selectNamed = database.prepare<[string, GroupId]>('SELECT 1 FROM groups WHERE name = ? AND group_id <> ?');

  function createGroup(draft: GroupDraftRow): GroupRow | Conflict {
    const { groupId, name, createdAtMs, creditsMicro } = draft;
    if (selectNamed.get(name, groupId) !== undefined) return 'name taken';
    const row = insert.get(draft);
    const account = funding.find(groupId);
    if (row === undefined || account === undefined) throw new Error('a group that was inserted was not found');
    funding.enter({ key: account.seq, kind: 'grant', amountMicro: creditsMicro ?? 0, createdAtMs });
    return row;
  }

  const select = database.prepare<[GroupId], GroupRow>(`SELECT ${GROUP_COLUMNS} FROM groups WHERE group_id = ?`);

  function findGroups(groupIds: readonly GroupId[]): readonly GroupRow[] {
    return groupIds.flatMap((groupId) => select.get(groupId) ?? []);
  }

  const selectSeq = database.prepare<[GroupId], number>('SELECT seq FROM groups WHERE group_id = ?').pluck();
  const selectPage = database.prepare<
    [GroupFilter & { readonly beforeSeq: number; readonly limit: number }],
    GroupRow
  >(`
    SELECT ${GROUP_COLUMNS} FROM groups WHERE seq < :beforeSeq AND (:name IS NULL OR name = :name)
      AND (:search IS NULL OR instr(lower(name), :search) > 0 OR group_id = :search)
    ORDER BY seq DESC LIMIT :limit`);

  function listGroups(limit: number, after: GroupId | null, filter: GroupFilter): readonly GroupRow[] | null {
    const beforeSeq = after === null ? Number.MAX_SAFE_INTEGER : selectSeq.get(after);
    return beforeSeq === undefined ? null : selectPage.all({ ...filter, beforeSeq, limit });
  }

  const updates = Object.entries(CHANGED_GROUP_COLUMNS).map(([name, valueOf]) => ({
    valueOf,
    statement: database.prepare<[string | number | null, GroupId]>(`UPDATE groups SET ${name} = ? WHERE group_id = ?`),
  }));

  function updateGroup(groupId: GroupId, change: GroupChange): GroupRow | Conflict | null {
    if (change.name !== undefined && selectNamed.get(change.name, groupId) !== undefined) return 'name taken';
    for (const { valueOf, statement } of updates) {
      const value = valueOf(change);
      if (value !== undefined) statement.run(value, groupId);
    }
    return select.get(groupId) ?? null;
  }

  const remove = database.prepare<[GroupId]>('DELETE FROM groups WHERE group_id = ?');

  function deleteGroup(groupId: GroupId): 'deleted' | 'has keys' | null {
    const group = select.get(groupId);
    if (group === undefined) return null;
    if (group.keys > 0) return 'has keys';
    remove.run(groupId);
    return 'deleted';
  }

  return { createGroup, findGroups, listGroups, updateGroup, deleteGroup };
}
