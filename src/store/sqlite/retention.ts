import type { Database } from 'better-sqlite3';

const RECLAIM_STEP_PAGES = 200;

const RECLAIM_FROM_PAGES = 2000;

/** Keeps the size of the file bounded. */
export function prepareReclaim(database: Database): () => boolean {
  const countPages = database.prepare<[], number>('SELECT page_count FROM pragma_page_count').pluck();
  const countFreePages = database.prepare<[], number>('SELECT freelist_count FROM pragma_freelist_count').pluck();

  /** New records reuse free pages. Moving pages pays only when half of the file is empty. */
  return () => {
    const free = countFreePages.get() ?? 0;
    if (free < RECLAIM_FROM_PAGES || free < (countPages.get() ?? 0) / 2) return false;
    database.pragma(`incremental_vacuum(${RECLAIM_STEP_PAGES})`);
    return true;
  };
}
