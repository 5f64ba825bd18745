import type { CalendarDay, GroupChange } from '../../core/books/keys.ts';
import type { Database } from 'better-sqlite3';
import type { GroupId } from '../../contract/ids.ts';
import type { Conflict, GroupDraftRow, GroupFilter, GroupRow } from '../rows/keys.ts';
import { WHOLE_GATEWAY } from '../../core/ids.ts';
import { GROUP_UPDATES, wholeSince } from '../sql/accounts.ts';
import { prepareNamed } from './named.ts';
import type { Funding } from '../book/unit-of-work.ts';
import { ACCOUNTS } from './statements.ts';

export function prepareGroups(database: Database, funding: Funding) {
  const insert = prepareNamed<GroupDraftRow, GroupRow>(database, ACCOUNTS.insertGroup);
  const selectNamed = prepareNamed<{ name: string; groupId: GroupId }>(database, ACCOUNTS.findNamedGroup);

  const countWhole = prepareNamed<ReturnType<typeof wholeSince>>(database, ACCOUNTS.countWhole);

  function createGroup(draft: GroupDraftRow, today: CalendarDay): GroupRow | Conflict {
    const { groupId, name, createdAtMs, creditsMicro } = draft;
    if (selectNamed.get({ name, groupId }) !== undefined) return 'name taken';
    const row = insert.get(draft);
    if (groupId === WHOLE_GATEWAY) countWhole.run(wholeSince(today));
    const account = funding.find(groupId);
    if (row === undefined || account === undefined) throw new Error('a group that was inserted was not found');
    funding.enter({ key: account.seq, kind: 'grant', amountMicro: creditsMicro ?? 0, createdAtMs });
    return row;
  }

  const select = prepareNamed<{ id: GroupId }, GroupRow>(database, ACCOUNTS.findGroup);

  function findGroups(groupIds: readonly GroupId[]): readonly GroupRow[] {
    return groupIds.flatMap((groupId) => select.get({ id: groupId }) ?? []);
  }

  const selectSeq = prepareNamed<{ id: GroupId }, { seq: number }>(database, ACCOUNTS.findGroupSeq);
  const selectPage = prepareNamed<GroupFilter & { afterSeq: number; limit: number }, GroupRow>(
    database,
    ACCOUNTS.listGroups,
  );

  function listGroups(limit: number, after: GroupId | null, filter: GroupFilter): readonly GroupRow[] | null {
    const afterSeq = after === null ? Number.MIN_SAFE_INTEGER : selectSeq.get({ id: after })?.seq;
    return afterSeq === undefined ? null : selectPage.all({ ...filter, afterSeq, limit });
  }

  const updates = GROUP_UPDATES.map(({ valueOf, statement }) => ({
    valueOf,
    update: prepareNamed<{ value: string | number | null; id: GroupId }>(database, statement),
  }));

  function updateGroup(groupId: GroupId, change: GroupChange): GroupRow | Conflict | null {
    if (change.name !== undefined && selectNamed.get({ name: change.name, groupId }) !== undefined) return 'name taken';
    for (const { valueOf, update } of updates) {
      const value = valueOf(change);
      if (value !== undefined) update.run({ value, id: groupId });
    }
    return select.get({ id: groupId }) ?? null;
  }

  const remove = database.prepare<[GroupId]>('DELETE FROM groups WHERE group_id = ?');

  function deleteGroup(groupId: GroupId): 'deleted' | 'has keys' | null {
    const group = select.get({ id: groupId });
    if (group === undefined) return null;
    if (group.keys > 0) return 'has keys';
    remove.run(groupId);
    return 'deleted';
  }

  return { createGroup, findGroups, listGroups, updateGroup, deleteGroup };
}
