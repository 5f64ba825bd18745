import { WHOLE_GATEWAY } from '../../core/ids.ts';
import { mapValues, recordOf } from '../../core/map-values.ts';
import { SPEND_WINDOWS } from '../../core/money/limits.ts';
import { HOUR_MS } from '../../core/time.ts';
import type { CalendarDay, GroupChange, KeyChange } from '../../core/books/keys.ts';
import { ENTRY_COLUMNS } from '../book/ledger.ts';
import { columnOf } from '../rows/columns.ts';
import {
  CHANGED_COLUMNS,
  CHANGED_GROUP_COLUMNS,
  DRAFT_COLUMNS,
  DRAFT_VALUES,
  GROUP_COLUMNS,
  IS_OF_PREVIOUS,
  KEY_COLUMNS,
} from '../rows/keys.ts';
import { named, type Dialect, type NamedStatement } from './dialect.ts';

const COUNT_WINDOWS = SPEND_WINDOWS.map(
  ({ per, spent }) => `${per} = :${per},
        ${columnOf(spent)} = (SELECT coalesce(sum(cost_micro), 0) FROM usage WHERE hour >= :${per}_hour)`,
);

/** Returns the values of `countWhole`. Usage is counted by the hour, so that a day may begin within one. */
export function wholeSince(today: CalendarDay) {
  return {
    groupId: WHOLE_GATEWAY,
    ...mapValues(today, ({ number }) => number),
    ...recordOf(SPEND_WINDOWS, ({ per }) => [`${per}_hour`, Math.floor(today[per].startsAtMs / HOUR_MS)]),
  };
}

export function accountStatements({ contains }: Dialect) {
  const keysWhere = (condition: string): string => `
    SELECT ${KEY_COLUMNS} FROM keys WHERE seq < :beforeSeq ${condition}
      AND (CAST(:groupId AS TEXT) IS NULL OR group_id = :groupId)
      AND (CAST(:isOfPrevious AS INTEGER) = 0 OR ${IS_OF_PREVIOUS})
      AND (CAST(:search AS TEXT) IS NULL OR ${contains('lower(name)', ':search')} OR lower(prefix) = :search
        OR key_id = :search)
    ORDER BY seq DESC LIMIT :limit`;
  return named('account', {
    findKey: `SELECT ${KEY_COLUMNS} FROM keys WHERE key_id = :id`,
    findKeySeq: 'SELECT seq FROM keys WHERE key_id = :id',
    listKeys: keysWhere(''),
    listNamedKeys: keysWhere('AND name = :name'),
    insertKey: `
      INSERT INTO keys (key_id, group_id, hash, prefix, mark, ${DRAFT_COLUMNS})
      VALUES (:keyId, :groupId, :hash, :prefix, :mark, ${DRAFT_VALUES}) RETURNING ${KEY_COLUMNS}`,
    rehashKey: `
      UPDATE keys SET hash = CASE hash WHEN :from THEN :to ELSE hash END,
        former_hash = CASE former_hash WHEN :from THEN :to ELSE former_hash END,
        mark = CASE hash WHEN :from THEN :mark ELSE mark END
      WHERE hash = :from OR former_hash = :from`,
    rotateKey: `
      UPDATE keys SET former_hash = hash, hash = :hash, prefix = :prefix, former_until_ms = :formerUntilMs, mark = :mark
      WHERE key_id = :keyId RETURNING ${KEY_COLUMNS}`,

    findGroup: `SELECT ${GROUP_COLUMNS} FROM groups WHERE group_id = :id`,
    /** Groups share the ledger with keys, and have negative numbers there. */
    findGroupSeq: 'SELECT -seq AS seq FROM groups WHERE group_id = :id',
    listGroups: `
      SELECT ${GROUP_COLUMNS} FROM groups WHERE -seq > :afterSeq AND (CAST(:name AS TEXT) IS NULL OR name = :name)
        AND (CAST(:search AS TEXT) IS NULL OR ${contains('lower(name)', ':search')} OR group_id = :search)
      ORDER BY seq DESC LIMIT :limit`,
    findNamedGroup: 'SELECT 1 AS found FROM groups WHERE name = :name AND group_id <> :groupId',
    insertGroup: `
      INSERT INTO groups (group_id, ${DRAFT_COLUMNS}) VALUES (:groupId, ${DRAFT_VALUES}) RETURNING ${GROUP_COLUMNS}`,

    /** The requests of all keys that run now, and what has ended in these times. */
    countWhole: `
      UPDATE groups SET ${COUNT_WINDOWS.join(', ')},
        held_micro = (SELECT coalesce(sum(requests.held_micro), 0) FROM requests
          WHERE requests.owner IS NOT NULL AND requests.key IS NOT NULL)
      WHERE group_id = :groupId`,

    noteFundedKey: 'UPDATE keys SET funded_micro = :fundedMicro, funded_at_ms = :atMs WHERE seq = :seq',
    noteFundedGroup: `
      UPDATE groups SET funded_micro = :fundedMicro, funded_at_ms = :atMs WHERE seq = -CAST(:seq AS BIGINT)`,
    findReference: 'SELECT 1 AS found FROM ledger WHERE key = :seq AND reference = :reference',
    listLedger: `
      SELECT ${ENTRY_COLUMNS} FROM ledger WHERE key = :seq AND seq < :beforeSeq ORDER BY seq DESC LIMIT :limit`,
    listLedgerAfter: `
      SELECT ${ENTRY_COLUMNS} FROM ledger WHERE key = :seq AND seq > :afterSeq ORDER BY seq LIMIT :limit`,
    listOldestEntries: `SELECT ${ENTRY_COLUMNS} FROM ledger WHERE key = :key ORDER BY seq LIMIT :limit`,
    turnIntoCarry: `
      UPDATE ledger SET kind = 'carry', amount_micro = :amountMicro, request_id = NULL, note = '', reference = NULL
      WHERE seq = :seq`,
    removeEntriesBefore: 'DELETE FROM ledger WHERE key = :key AND seq < :seq',
    dropEntries: `
      DELETE FROM ledger WHERE seq IN (SELECT seq FROM ledger WHERE key = :key ORDER BY seq LIMIT :limit)`,
  });
}

/** One statement for each column of a key that can be changed. */
export const KEY_UPDATES = updatesOf<KeyChange>('keys', 'key_id', CHANGED_COLUMNS);
export const GROUP_UPDATES = updatesOf<GroupChange>('groups', 'group_id', CHANGED_GROUP_COLUMNS);

interface Update<Change> {
  /** Undefined for a change without the column. */
  readonly valueOf: (change: Change) => string | number | null | undefined;
  readonly statement: NamedStatement;
}

function updatesOf<Change>(
  table: string,
  id: string,
  columns: Readonly<Record<string, Update<Change>['valueOf']>>,
): readonly Update<Change>[] {
  return Object.entries(columns).map(([column, valueOf]) => ({
    valueOf,
    statement: {
      name: `update_${table}_${column}`,
      text: `UPDATE ${table} SET ${column} = :value WHERE ${id} = :id`,
    },
  }));
}
