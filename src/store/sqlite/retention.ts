import type { Database } from 'better-sqlite3';
import { PRUNE_STEP } from '../shared/operations.ts';

/** How many pages one step gives back to the file system. */
const RECLAIM_STEP_PAGES = 200;

/** Free pages below this number are not worth moving others for. */
const RECLAIM_FROM_PAGES = 2000;

/** Keeping the file from growing for ever. */
export function prepareRetention(database: Database) {
  const removeSome = database.prepare<[number, number]>(`
    DELETE FROM requests WHERE seq IN (
      SELECT seq FROM requests WHERE completed_at_ms < ? ORDER BY completed_at_ms LIMIT ?)`);

  /** Deletes some of the records that ended before this time; returns how many. */
  function pruneSome(beforeMs: number): number {
    return removeSome.run(beforeMs, PRUNE_STEP).changes;
  }

  const removeUsage = database.prepare<[number, number]>(`
    DELETE FROM usage WHERE (hour, caller, model) IN (
      SELECT hour, caller, model FROM usage WHERE hour < ? ORDER BY hour LIMIT ?)`);

  /** Forgets some of what was used in the hours before; returns how many sums. */
  function pruneUsageSome(beforeHour: number): number {
    return removeUsage.run(beforeHour, PRUNE_STEP).changes;
  }

  const countPages = database.prepare<[], number>('SELECT page_count FROM pragma_page_count').pluck();
  const countFreePages = database.prepare<[], number>('SELECT freelist_count FROM pragma_freelist_count').pluck();

  /**
   * Makes the file a little smaller; returns whether there is more to do. New records use the pages of deleted ones, so
   * that the file stays as large as the retention needs. Only when more than half of it is empty (the load has fallen, or
   * the retention was shortened) are pages moved, since moving them costs more than it brings.
   */
  function reclaimSome(): boolean {
    const free = countFreePages.get() ?? 0;
    if (free < RECLAIM_FROM_PAGES || free < (countPages.get() ?? 0) / 2) return false;
    database.pragma(`incremental_vacuum(${RECLAIM_STEP_PAGES})`);
    return true;
  }

  return { pruneSome, pruneUsageSome, reclaimSome };
}
