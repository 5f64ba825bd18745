import type { Database } from 'better-sqlite3';
import { HOUR_MS } from '../../core/time.ts';
import { firstHourKept } from '../rows/request-stats.ts';
import { PRUNE_STEP } from '../queue/operations.ts';
import type { Rollup } from '../rows/usage-rollups.ts';
import { prepareNamed } from './named.ts';
import { RECORDS, UPKEEP } from './statements.ts';

interface BeforeHour {
  readonly beforeHour: number;
}

const RECLAIM_STEP_PAGES = 200;

const RECLAIM_FROM_PAGES = 2000;

/** Keeps the size of the file bounded. */
export function prepareRetention(database: Database) {
  const removeSome = prepareNamed<{ fromMs: number; beforeMs: number }, { endedAtMs: number }>(database, RECORDS.prune);
  const removeUsage = prepareNamed<BeforeHour>(database, UPKEEP.pruneUsage);
  const removeGroupUsage = prepareNamed<BeforeHour>(database, UPKEEP.pruneGroupUsage);
  const removeAlerts = prepareNamed<{ beforeMs: number }>(database, UPKEEP.pruneAlerts);
  const removeRollup = prepareNamed<BeforeHour, Rollup>(database, UPKEEP.pruneRollup);
  const removeSums = prepareNamed<Rollup>(database, UPKEEP.removeRollupSums);
  const removeStats = prepareNamed<BeforeHour & { firstHour: number }>(database, UPKEEP.pruneStats);

  function pruneUsageSome(beforeHour: number): number {
    removeAlerts.run({ beforeMs: beforeHour * HOUR_MS });
    const rollup = removeRollup.get({ beforeHour });
    if (rollup !== undefined) {
      removeSums.run(rollup);
      return PRUNE_STEP;
    }
    const stats = removeStats.run({ beforeHour, firstHour: firstHourKept(beforeHour) }).changes;
    if (stats === PRUNE_STEP) return stats;
    const ofGroups = removeGroupUsage.run({ beforeHour }).changes;
    return ofGroups === PRUNE_STEP ? ofGroups : removeUsage.run({ beforeHour }).changes;
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

  const pruneSome = (fromMs: number, beforeMs: number): readonly number[] =>
    removeSome.all({ fromMs, beforeMs }).map(({ endedAtMs }) => endedAtMs);

  return { pruneSome, pruneUsageSome, reclaimSome };
}
