import type { GroupId } from '../../contract/ids.ts';
import type { CalendarDay, GroupChange } from '../../core/books/keys.ts';
import { WHOLE_GATEWAY } from '../../core/ids.ts';
import { mapValues, recordOf } from '../../core/map-values.ts';
import { SPEND_WINDOWS } from '../../core/money/limits.ts';
import { HOUR_MS } from '../../core/time.ts';
import { columnOf } from '../rows/columns.ts';
import { CHANGED_GROUP_COLUMNS, DRAFT_COLUMNS, DRAFT_VALUES, GROUP_COLUMNS, type GroupRow } from '../rows/keys.ts';
import { named, type Dialect } from './dialect.ts';
import { changes, first, fundingOf, rows, send, type SteppedOperations, type Steps } from './steps.ts';
import { updatesOf } from './updates.ts';

interface Numbered {
  readonly seq: number;
}

export function groupOperations(
  dialect: Dialect,
): SteppedOperations<'createGroup' | 'findGroups' | 'listGroups' | 'updateGroup' | 'deleteGroup'> {
  const sql = groupStatements(dialect);
  const updates = updatesOf<GroupChange>('groups', 'group_id', CHANGED_GROUP_COLUMNS);

  /** What it finds stays so until the transaction ends. */
  function* isTaken(name: string, groupId: GroupId | null): Steps<boolean> {
    yield* rows(sql.lockNames, {});
    return (yield* first(sql.findNamed, { name, groupId })) !== undefined;
  }

  return {
    *createGroup(draft, today) {
      const { groupId, name, createdAtMs, creditsMicro } = draft;
      const isWhole = groupId === WHOLE_GATEWAY;
      if (isWhole) yield* rows(sql.lockRecords, {});
      if (yield* isTaken(name, null)) return 'name taken';
      const row = yield* first<GroupRow>(sql.insert, draft);
      if (isWhole) yield* changes(sql.countWhole, wholeSince(today));
      const funding = yield* fundingOf([groupId]);
      const account = funding.find(groupId);
      if (row === undefined || account === undefined) throw new Error('a group that was inserted was not found');
      funding.enter({ key: account.seq, kind: 'grant', amountMicro: creditsMicro ?? 0, createdAtMs });
      return row;
    },
    findGroups: (groupIds) => rows<GroupRow>(sql.find, ...groupIds.map((id) => ({ id }))),
    *listGroups(limit, after, filter) {
      const afterSeq =
        after === null ? Number.MIN_SAFE_INTEGER : (yield* first<Numbered>(sql.findSeq, { id: after }))?.seq;
      return afterSeq === undefined ? null : yield* rows<GroupRow>(sql.list, { ...filter, afterSeq, limit });
    },
    *updateGroup(groupId, change) {
      if (change.name !== undefined && (yield* isTaken(change.name, groupId))) return 'name taken';
      for (const { statement, value } of updates(change)) yield* send(statement, { value, id: groupId });
      return (yield* first<GroupRow>(sql.find, { id: groupId })) ?? null;
    },
    *deleteGroup(groupId) {
      const id = { id: groupId };
      if ((yield* first(sql.lock, id)) === undefined) return null;
      if ((yield* first(sql.findMember, id)) !== undefined) return 'has keys';
      yield* send(sql.noteDeleted, ...(yield* rows<Numbered>(sql.remove, id)));
      return 'deleted';
    },
  };
}

/** The number under which the ledger knows a group. */
export const FIND_GROUP_SEQ = 'SELECT -seq AS seq FROM groups WHERE group_id = :id';

function groupStatements({ contains, locks, noteDeleted }: Dialect) {
  return named('group', {
    lockNames: locks.names,
    lockRecords: locks.records,
    findNamed: 'SELECT 1 AS found FROM groups WHERE name = :name AND group_id IS DISTINCT FROM :groupId',
    insert: `
      INSERT INTO groups (group_id, ${DRAFT_COLUMNS}) VALUES (:groupId, ${DRAFT_VALUES}) RETURNING ${GROUP_COLUMNS}`,
    /** The requests of all keys that run now, and what has ended in these times. */
    countWhole: `
      UPDATE groups SET ${COUNT_WINDOWS.join(', ')},
        held_micro = (SELECT coalesce(sum(requests.held_micro), 0) FROM requests
          WHERE requests.owner IS NOT NULL AND requests.key IS NOT NULL)
      WHERE group_id = :groupId`,
    find: `SELECT ${GROUP_COLUMNS} FROM groups WHERE group_id = :id`,
    findSeq: FIND_GROUP_SEQ,
    list: `
      SELECT ${GROUP_COLUMNS} FROM groups WHERE -seq > :afterSeq AND (CAST(:name AS TEXT) IS NULL OR name = :name)
        AND (CAST(:search AS TEXT) IS NULL OR ${contains('lower(name)', ':search')} OR group_id = :search)
      ORDER BY seq DESC LIMIT :limit`,
    // No key can come to the group after it.
    lock: `SELECT 1 AS found FROM groups WHERE group_id = :id${locks.forUpdate}`,
    findMember: 'SELECT 1 AS found FROM keys WHERE group_id = :id LIMIT 1',
    remove: 'DELETE FROM groups WHERE group_id = :id RETURNING -seq AS seq',
    noteDeleted,
  });
}

const COUNT_WINDOWS = SPEND_WINDOWS.map(
  ({ per, spent }) => `${per} = :${per},
        ${columnOf(spent)} = (SELECT coalesce(sum(cost_micro), 0) FROM usage WHERE hour >= :${per}_hour)`,
);

/** Returns the values of `countWhole`. Usage is counted by the hour, so that a day may begin within one. */
function wholeSince(today: CalendarDay) {
  return {
    groupId: WHOLE_GATEWAY,
    ...mapValues(today, ({ number }) => number),
    ...recordOf(SPEND_WINDOWS, ({ per }) => [`${per}_hour`, Math.floor(today[per].startsAtMs / HOUR_MS)]),
  };
}
