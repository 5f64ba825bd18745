import type { Database } from 'better-sqlite3';
import { HOUR_MS } from '../../core/time.ts';
import { firstHourKept } from '../rows/request-stats.ts';
import { PRUNE_STEP } from '../queue/operations.ts';
import type { Rollup } from '../rows/usage-rollups.ts';

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
  const removeAlerts = database.prepare<[number]>('DELETE FROM alerts WHERE claimed_at_ms < ?');

  const removeRollup = database.prepare<[number], Rollup>(`
    DELETE FROM usage_rollups WHERE (kind, start, hours) IN (
      SELECT kind, start, hours FROM usage_rollups WHERE start < ? ORDER BY until LIMIT 1)
    RETURNING kind, start, hours`);
  const removeSums = database.prepare<[Rollup]>(
    'DELETE FROM usage_sums WHERE kind = :kind AND start = :start AND hours = :hours',
  );

  const removeStats = database.prepare<[number, number, number]>(`
    DELETE FROM request_stats WHERE (scope, per, start, model) IN (
      SELECT scope, per, start, model FROM request_stats
      WHERE (per IN ('day', 'month') AND start < ?) OR (per = 'hour' AND start < ?) LIMIT ?)`);

  function pruneUsageSome(beforeHour: number): number {
    removeAlerts.run(beforeHour * HOUR_MS);
    const rollup = removeRollup.get(beforeHour);
    if (rollup !== undefined) {
      removeSums.run(rollup);
      return PRUNE_STEP;
    }
    const stats = removeStats.run(beforeHour, firstHourKept(beforeHour), PRUNE_STEP).changes;
    if (stats === PRUNE_STEP) return stats;
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
