import type { Database } from 'better-sqlite3';
import type { AccountId } from '../../contract/ids.ts';
import { isGroupId } from '../../core/ids.ts';
import {
  COUNTED_FIELDS,
  GROUP_ACCOUNT_COLUMNS,
  KEY_ACCOUNT_COLUMNS,
  openUnitOfWork,
  type Account,
  type EntryRow,
  type OpenUnit,
} from '../book/unit-of-work.ts';
import { columnOf } from '../rows/columns.ts';
import { countedName, USAGE_SUMS, type GroupUsageRow, type HourSpan, type UsageSumRow } from '../rows/usage.ts';
import { FORGET_ROLLUPS } from '../sql/usage.ts';
import { prepareNamed } from './named.ts';

export interface SqliteUnitOfWork extends OpenUnit {
  /** Runs before an operation reads the tables, and at the end. */
  flush(): void;
  discard(): void;
}

/** Each statement looks up the next number, which takes a third of its time. */
const AT_ONCE = 8;

export function prepareUnitOfWork(database: Database): SqliteUnitOfWork {
  const prepareRow = <Row extends object>(text: string) => prepareNamed<Row>(database, { text });
  const selectKey = `SELECT ${KEY_ACCOUNT_COLUMNS} FROM keys WHERE`;
  const selectGroup = `SELECT ${GROUP_ACCOUNT_COLUMNS} FROM groups WHERE`;
  const selectBySeq = database.prepare<[number], Account>(`${selectKey} seq = ?`);
  const selectGroupBySeq = database.prepare<[number], Account>(`${selectGroup} seq = -?`);
  const selectById = database.prepare<[AccountId], Account>(`${selectKey} key_id = ?`);
  const selectGroupById = database.prepare<[AccountId], Account>(`${selectGroup} group_id = ?`);
  const funds = COUNTED_FIELDS.map((field) => `${columnOf(field)} = :${field}`).join(', ');
  const update = prepareRow<Account>(`UPDATE keys SET ${funds} WHERE seq = :seq`);
  const updateGroup = prepareRow<Account>(`UPDATE groups SET ${funds} WHERE seq = -:seq`);
  const insertEntries = Array.from({ length: AT_ONCE }, (_, index) => prepareInsertEntries(database, index + 1));
  // An overflow, whatever backends report, would keep records from becoming final.
  const columns = USAGE_SUMS.map(({ column }) => column);
  const values = USAGE_SUMS.map(({ name }) => `:${name}`);
  const sums = columns.map((each) => `${each} = min(${each} + excluded.${each}, ${Number.MAX_SAFE_INTEGER})`);
  const named = (table: string, whose: string) => countedName(table, whose, ':model');
  const ofHour = 'hour = :startHour AND caller = :caller';
  const upsertUsage = prepareRow<UsageSumRow>(`
    INSERT INTO usage (hour, caller, model, ${columns.join(', ')})
    VALUES (:startHour, :caller, ${named('usage', ofHour)}, ${values.join(', ')})
    ON CONFLICT DO UPDATE SET ${sums.join(', ')}`);
  const upsertGroupUsage = prepareRow<GroupUsageRow>(`
    INSERT INTO group_usage (group_id, hour, caller, model, ${columns.join(', ')})
    VALUES (:groupId, :startHour, :caller, ${named('group_usage', `group_id = :groupId AND ${ofHour}`)}, ${values.join(', ')})
    ON CONFLICT DO UPDATE SET ${sums.join(', ')}`);

  const forget = prepareRow<HourSpan>(FORGET_ROLLUPS);

  const unit = openUnitOfWork({
    of: (seq) => (seq < 0 ? selectGroupBySeq : selectBySeq).get(seq),
    find: (id) => (isGroupId(id) ? selectGroupById : selectById).get(id),
  });

  return {
    funding: unit.funding,
    noteUsage: unit.noteUsage,
    takeBackUsage: unit.takeBackUsage,
    flush() {
      const { accounts, entries, sums, groupSums } = unit.flush();
      for (const account of accounts) (account.seq < 0 ? updateGroup : update).run(account);
      for (let at = 0; at < entries.length; at += AT_ONCE) {
        const some = entries.slice(at, at + AT_ONCE);
        insertEntries[some.length - 1]?.run(some.flatMap(toValues));
      }
      const hours = sums.map(({ startHour }) => startHour);
      // The index shows that there is none, but for usage that comes very late.
      if (hours.length > 0) forget.run({ from: Math.min(...hours), until: Math.max(...hours) });
      for (const row of sums) upsertUsage.run(row);
      for (const row of groupSums) upsertGroupUsage.run(row);
    },
    discard: () => void unit.flush(),
  };
}

function prepareInsertEntries(database: Database, count: number) {
  return database.prepare<[readonly unknown[]]>(`
    INSERT INTO ledger (key, kind, amount_micro, request_id, note, created_at_ms, reference)
    VALUES ${Array.from({ length: count }, () => '(?, ?, ?, ?, ?, ?, ?)').join(', ')}`);
}

function toValues(entry: EntryRow): readonly unknown[] {
  const { key, kind, amountMicro, requestId, note, createdAtMs, reference } = entry;
  return [key, kind, amountMicro, requestId, note, createdAtMs, reference];
}
