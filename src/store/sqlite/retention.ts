import type { Database } from 'better-sqlite3';
import { named } from '../sql/dialect.ts';
import { findMark } from '../sql/secret-mark.ts';
import { send, type SteppedOperations } from '../sql/steps.ts';

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

/** A page for the table and each index of the records. */
const PROBE_BYTES = 12 * 4096;

const { write, remove } = named('probe', {
  write: `INSERT INTO write_probes (filler) VALUES (zeroblob(${PROBE_BYTES}))`,
  remove: 'DELETE FROM write_probes',
});

export const RETENTION: SteppedOperations<'probeWrite'> = {
  /** The probe needs new pages, as `accept` may, so that a full disk is noticed. */
  *probeWrite() {
    yield* send(write, {});
    yield* send(remove, {});
    return (yield* findMark()) ?? null;
  },
};
