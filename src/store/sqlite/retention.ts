import type { Database } from 'better-sqlite3';

/** How many records one step deletes: some milliseconds in a large database, during which everything else waits. */
export const PRUNE_STEP = 100;

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

  return { pruneSome, reclaimSome };
}
