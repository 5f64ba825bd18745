import { HOUR_MS } from '../../core/time.ts';
import { MAX_ACCEPTED, PRUNE_STEP } from '../queue/operations.ts';
import {
  formerOf,
  SPENDING_COLUMNS,
  SPENDING_CONDITION,
  type ChargedCurrency,
  type SpendingRow,
} from '../rows/alerts.ts';
import { firstHourKept, type StatsRow } from '../rows/request-stats.ts';
import type { Rollup } from '../rows/usage-rollups.ts';
import { named, type Dialect } from './dialect.ts';
import { changes, first, rows, send, type SteppedOperations } from './steps.ts';
import { REMOVE_ROLLUP_SUMS } from './usage.ts';

type UpkeepOperation =
  | 'addStats'
  | 'listStats'
  | 'rememberAccepted'
  | 'listAccepted'
  | 'listSpending'
  | 'claimAlert'
  | 'noteCurrency'
  | 'pruneSome'
  | 'pruneUsageSome';

interface CallerRow {
  readonly caller: string;
}

export function upkeepOperations(dialect: Dialect): SteppedOperations<UpkeepOperation> {
  const sql = upkeepStatements(dialect);
  return {
    *addStats(stats) {
      yield* send(sql.addStats, ...stats);
      return null;
    },
    listStats: ({ scopes, ...step }) => rows<StatsRow>(sql.listStats, ...scopes.map((scope) => ({ ...step, scope }))),
    *rememberAccepted(caller, atMs) {
      yield* send(sql.rememberAccepted, { caller, atMs });
      yield* send(sql.removeOldestAccepted, {});
      return null;
    },
    *listAccepted(sinceMs) {
      return (yield* rows<CallerRow>(sql.listAccepted, { sinceMs })).map(({ caller }) => caller);
    },
    listSpending: (step) => rows<SpendingRow>(step.of === 'keys' ? sql.listSpendingKeys : sql.listSpendingGroups, step),
    *claimAlert(claim) {
      return (yield* changes(sql.claimAlert, claim)) === 1;
    },
    *noteCurrency(currency) {
      const known = yield* first<ChargedCurrency>(sql.findCurrency);
      if (known?.currency !== currency) yield* send(sql.noteCurrency, { currency });
      return formerOf(known, currency);
    },
    *pruneSome(fromMs, beforeMs) {
      const pruned = yield* rows<{ readonly endedAtMs: number }>(sql.pruneRecords, { fromMs, beforeMs });
      return pruned.map(({ endedAtMs }) => endedAtMs);
    },
    *pruneUsageSome(beforeHour) {
      yield* send(sql.pruneAlerts, { beforeMs: beforeHour * HOUR_MS });
      const rollup = yield* first<Rollup>(sql.pruneRollup, { beforeHour });
      if (rollup !== undefined) {
        yield* send(sql.removeRollupSums, rollup);
        return PRUNE_STEP;
      }
      const stats = yield* changes(sql.pruneStats, { beforeHour, firstHour: firstHourKept(beforeHour) });
      if (stats === PRUNE_STEP) return stats;
      const ofGroups = yield* changes(sql.pruneGroupUsage, { beforeHour });
      return ofGroups === PRUNE_STEP ? ofGroups : yield* changes(sql.pruneUsage, { beforeHour });
    },
  };
}

function upkeepStatements({ sumsOfCounts, locks: { skipLocked } }: Dialect) {
  const spending = (table: keyof typeof SPENDING_COLUMNS): string => `
    SELECT ${SPENDING_COLUMNS[table]} FROM ${table} WHERE seq < :beforeSeq AND ${SPENDING_CONDITION}
    ORDER BY seq DESC LIMIT :limit`;
  return named('upkeep', {
    addStats: `
      INSERT INTO request_stats (scope, per, start, model, counts) VALUES (:scope, :per, :start, :model, :counts)
      ON CONFLICT (scope, per, start, model) DO UPDATE SET counts = (${sumsOfCounts})`,
    listStats: `
      SELECT scope, per, start, model, counts FROM request_stats
      WHERE scope = :scope AND per = :per AND start >= :from AND start < :until`,
    listSpendingKeys: spending('keys'),
    listSpendingGroups: spending('groups'),
    // Of transactions that write the same row the later one sees what the earlier one has written.
    claimAlert: `
      INSERT INTO alerts AS known (subject, period, level, claimed_at_ms) VALUES (:subject, :period, :level, :nowMs)
      ON CONFLICT (subject) DO UPDATE
        SET period = excluded.period, level = excluded.level, claimed_at_ms = excluded.claimed_at_ms
        WHERE known.period <> excluded.period OR known.level < excluded.level OR known.claimed_at_ms < :validFromMs`,
    findCurrency: `
      SELECT currency, CASE WHEN EXISTS (SELECT 1 FROM usage WHERE cost_micro > 0) THEN 1 ELSE 0 END AS "isCharged"
      FROM charged_currency`,
    noteCurrency: `
      INSERT INTO charged_currency (id, currency) VALUES (1, :currency)
      ON CONFLICT (id) DO UPDATE SET currency = excluded.currency`,
    rememberAccepted: `
      INSERT INTO accepted_callers (caller, accepted_at_ms) VALUES (:caller, :atMs)
      ON CONFLICT (caller) DO UPDATE SET accepted_at_ms = excluded.accepted_at_ms`,
    removeOldestAccepted: `
      DELETE FROM accepted_callers WHERE caller IN (
        SELECT caller FROM accepted_callers ORDER BY accepted_at_ms DESC LIMIT ${Number.MAX_SAFE_INTEGER}
        OFFSET ${MAX_ACCEPTED}${skipLocked})`,
    listAccepted: `
      SELECT caller FROM accepted_callers WHERE accepted_at_ms >= :sinceMs ORDER BY accepted_at_ms, caller`,
    pruneRecords: `
      DELETE FROM requests WHERE seq IN (
        SELECT seq FROM requests WHERE completed_at_ms >= :fromMs AND completed_at_ms < :beforeMs ORDER BY completed_at_ms
        LIMIT ${PRUNE_STEP}${skipLocked})
      RETURNING completed_at_ms AS "endedAtMs"`,
    removeRollupSums: REMOVE_ROLLUP_SUMS,
    pruneUsage: `
      DELETE FROM usage WHERE (hour, caller, model) IN (
        SELECT hour, caller, model FROM usage WHERE hour < :beforeHour ORDER BY hour LIMIT ${PRUNE_STEP}${skipLocked})`,
    pruneGroupUsage: `
      DELETE FROM group_usage WHERE (group_id, hour, caller, model) IN (
        SELECT group_id, hour, caller, model FROM group_usage WHERE hour < :beforeHour ORDER BY hour
        LIMIT ${PRUNE_STEP}${skipLocked})`,
    pruneRollup: `
      DELETE FROM usage_rollups WHERE (kind, start, hours) IN (
        SELECT kind, start, hours FROM usage_rollups WHERE start < :beforeHour ORDER BY until LIMIT 1${skipLocked})
      RETURNING kind, start, hours`,
    pruneStats: `
      DELETE FROM request_stats WHERE (scope, per, start, model) IN (
        SELECT scope, per, start, model FROM request_stats
        WHERE (per IN ('day', 'month') AND start < :beforeHour) OR (per = 'hour' AND start < :firstHour)
        LIMIT ${PRUNE_STEP}${skipLocked})`,
    pruneAlerts: 'DELETE FROM alerts WHERE claimed_at_ms < :beforeMs',
  });
}
