import type { Database } from 'better-sqlite3';
import type { Charges } from '../book/charges.ts';
import { UNFINISHED_COLUMNS } from '../rows/record-columns.ts';
import { toInterrupted, type UnfinishedRow } from '../rows/records.ts';
import type { Changes } from './changes.ts';
import type { Owners } from './owner-lock.ts';

const STEP = 500;

export function prepareRecovery(
  database: Database,
  { own, owners }: { readonly own: string; readonly owners: Owners },
  { charges, changes }: { readonly charges: Charges; readonly changes: Changes },
) {
  const selectOwners = database
    .prepare<[], string>('SELECT DISTINCT owner FROM requests WHERE owner IS NOT NULL')
    .pluck();
  const selectSome = database.prepare<[string, number], UnfinishedRow>(
    `SELECT ${UNFINISHED_COLUMNS} FROM requests WHERE owner = ? LIMIT ?`,
  );

  function endSome(nowMs: number, dead: string, limit: number): number {
    const unfinished = selectSome.all(dead, limit);
    for (const record of unfinished) {
      const closed = toInterrupted(record, nowMs);
      changes.update(closed);
      charges.end(closed);
    }
    return unfinished.length;
  }

  function recoverSome(nowMs: number): number {
    const others = new Set([...selectOwners.all(), ...owners.list()]);
    others.delete(own);
    let left = STEP;
    for (const other of others) {
      if (left <= 0 || !owners.isDead(other)) continue;
      const ended = endSome(nowMs, other, left);
      // The file goes last, since a missing one is no proof of death.
      if (ended < left) owners.forget(other);
      left -= ended;
    }
    return STEP - left;
  }

  return { recoverSome, listUnfinished: () => [] };
}
