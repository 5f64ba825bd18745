import type { Database } from 'better-sqlite3';
import { PRUNE_STEP } from '../shared/operations.ts';

const RECLAIM_STEP_PAGES = 200;

const RECLAIM_FROM_PAGES = 2000;

/** Keeps the size of the file bounded. */
export function prepareRetention(database: Database) {
  const removeSome = database.prepare<[number, number]>(`
    DELETE FROM requests WHERE seq IN (
      SELECT seq FROM requests WHERE completed_at_ms < ? ORDER BY completed_at_ms LIMIT ?)`);

  function pruneSome(beforeMs: number): number {
    return removeSome.run(beforeMs, PRUNE_STEP).changes;
  }

  const removeUsage = database.prepare<[number, number]>(`
    DELETE FROM usage WHERE (hour, caller, model) IN (
      SELECT hour, caller, model FROM usage WHERE hour < ? ORDER BY hour LIMIT ?)`);
  const removeGroupUsage = database.prepare<[number, number]>(`
    DELETE FROM group_usage WHERE (group_id, hour, caller, model) IN (
      SELECT group_id, hour, caller, model FROM group_usage WHERE hour < ? ORDER BY hour LIMIT ?)`);

  function pruneUsageSome(beforeHour: number): number {
    const ofGroups = removeGroupUsage.run(beforeHour, PRUNE_STEP).changes;
    return ofGroups === PRUNE_STEP ? ofGroups : removeUsage.run(beforeHour, PRUNE_STEP).changes;
  }

  const countPages = database.prepare<[], number>('SELECT page_count FROM pragma_page_count').pluck();
  const countFreePages = database.prepare<[], number>('SELECT freelist_count FROM pragma_freelist_count').pluck();

  /** New records reuse free pages. Moving pages pays only when half of the file is empty. */
  function reclaimSome(): boolean {
    const free = countFreePages.get() ?? 0;
    if (free < RECLAIM_FROM_PAGES || free < (countPages.get() ?? 0) / 2) return false;
    database.pragma(`incremental_vacuum(${RECLAIM_STEP_PAGES})`);
    return true;
  }

  return { pruneSome, pruneUsageSome, reclaimSome };
}
