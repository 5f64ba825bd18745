import { MAX_ACCEPTED, PRUNE_STEP } from '../queue/operations.ts';
import { SPENDING_COLUMNS, SPENDING_CONDITION } from '../rows/alerts.ts';
import { SELECT_SUMS } from '../rows/usage.ts';
import type { UsageQuery } from '../../core/books/keys.ts';
import { named, type Dialect } from './dialect.ts';

/** How the hour of a row becomes the one in which its hour, day or month begins. */
export function startsOf({ startOfMonth }: Dialect) {
  return { hour: 'hour', day: 'hour / 24 * 24', month: startOfMonth } satisfies Record<UsageQuery['per'], string>;
}

/** The sums of usage `per` time: of everybody, of one caller, of all groups, and of one group. */
export function usageStatements(dialect: Dialect) {
  const starts = startsOf(dialect);
  const sumPer = (per: UsageQuery['per'], table: string, { columns, where }: { columns: string; where: string }) => `
    SELECT ${starts[per]} AS "startHour", ${columns}, ${SELECT_SUMS}
    FROM ${table} WHERE ${where} hour >= :from AND hour < :until
    GROUP BY "startHour", ${columns.replace(/ AS "\w+"/, '')} ORDER BY "startHour" LIMIT :limit`;
  const ofCallers = 'caller, model';
  const ofGroups = 'group_id AS "groupId", caller, model';
  return (per: UsageQuery['per']) =>
    named(`usage_${per}`, {
      ofAll: sumPer(per, 'usage', { columns: ofCallers, where: '' }),
      ofCaller: sumPer(per, 'usage', { columns: ofCallers, where: 'caller = :whose AND' }),
      ofGroups: sumPer(per, 'group_usage', { columns: ofGroups, where: '' }),
      ofGroup: sumPer(per, 'group_usage', { columns: ofGroups, where: 'group_id = :whose AND' }),
    });
}

export function upkeepStatements({ skipLocked }: Dialect) {
  const spending = (table: keyof typeof SPENDING_COLUMNS): string => `
    SELECT ${SPENDING_COLUMNS[table]} FROM ${table} WHERE seq < :beforeSeq AND ${SPENDING_CONDITION}
    ORDER BY seq DESC LIMIT :limit`;
  return named('upkeep', {
    // One aggregate for each SELECT, or SQLite reads the whole table.
    findUsageSpan: `
      SELECT coalesce((SELECT min(hour) FROM usage), 0) AS "from",
        coalesce((SELECT max(hour) FROM usage) + 1, 0) AS until`,
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
    listRollups: 'SELECT kind, start, hours FROM usage_rollups WHERE is_current = 1',
    forgetRollups: 'UPDATE usage_rollups SET is_current = 0 WHERE until > :from AND start <= :until',
    removeRollupSums: 'DELETE FROM usage_sums WHERE kind = :kind AND start = :start AND hours = :hours',
    markRollup: `
      INSERT INTO usage_rollups (kind, start, hours, until, is_current)
      VALUES (:kind, :start, :hours, CAST(:start AS BIGINT) + CAST(:hours AS BIGINT), 1)
      ON CONFLICT (kind, start, hours) DO UPDATE SET is_current = 1`,
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
