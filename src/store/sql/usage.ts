import type { UsageQuery } from '../../core/books/keys.ts';
import {
  cover,
  DAY_HOURS,
  filtersOf,
  partsOf,
  rollupsFor,
  toRollUp,
  toTotals,
  type Rollup,
  type TotalRow,
} from '../rows/usage-rollups.ts';
import { SELECT_SUMS, type GroupUsageRow, type HourSpan, type UsageSumRow } from '../rows/usage.ts';
import { named, type Dialect } from './dialect.ts';
import { first, rows, send, type SteppedOperations } from './steps.ts';

type UsageOperation = 'sumUsage' | 'sumGroupUsage' | 'findUsageSpan' | 'sumTotals' | 'listRollups' | 'rollUp';

export function usageOperations(dialect: Dialect): SteppedOperations<UsageOperation> {
  const starts = startsOf(dialect);
  const sums = {
    hour: sumStatements('hour', starts),
    day: sumStatements('day', starts),
    month: sumStatements('month', starts),
  };
  const sql = rollupStatements(dialect);

  return {
    sumUsage: (caller, per, span, limit) =>
      rows<UsageSumRow>(sums[per][caller === null ? 'ofAll' : 'ofCaller'], { whose: caller, limit, ...span }),
    sumGroupUsage: (groupId, per, span, limit) =>
      rows<GroupUsageRow>(sums[per][groupId === null ? 'ofGroups' : 'ofGroup'], { whose: groupId, limit, ...span }),
    *findUsageSpan() {
      return (yield* first<HourSpan>(sql.findSpan)) ?? { from: 0, until: 0 };
    },
    *sumTotals(step) {
      const { by, span, limit } = step;
      const kind = rollupsFor(step);
      yield* send(sql.compileNothing, {});
      const isByTime = by === 'time' ? 1 : 0;
      const found = kind === undefined ? [] : yield* rows<Rollup>(sql.findRollupsIn, { kind, isByTime, ...span });
      const { rollups, hours } = cover(span, found);
      const filters = filtersOf(step).map(({ value }, at): [string, unknown] => [`filter${at}`, value]);
      return yield* rows<TotalRow>(toTotals(step, { ...dialect, starts }), {
        rollups: JSON.stringify(rollups),
        hours: JSON.stringify(hours.map(({ from, until }) => ({ from_hour: from, until_hour: until }))),
        kind: kind ?? '',
        limit,
        ...Object.fromEntries(filters),
      });
    },
    listRollups: () => rows<Rollup>(sql.listRollups, {}),
    *rollUp(rollup) {
      yield* rows(sql.lockRollups, {});
      const parts = partsOf(rollup);
      if ((yield* rows(sql.findRollup, ...parts)).length < parts.length) return null;
      yield* send(sql.removeSums, rollup);
      yield* send(toRollUp(rollup, dialect), rollup);
      yield* send(sql.markRollup, rollup);
      return null;
    },
  };
}

/** How the hour of a row becomes the one in which its hour, day or month begins. */
export function startsOf({ startOfMonth }: Dialect) {
  return { hour: 'hour', day: 'hour / 24 * 24', month: startOfMonth } satisfies Record<UsageQuery['per'], string>;
}

/** The sums of usage `per` time: of everybody, of one caller, of all groups, and of one group. */
function sumStatements(per: UsageQuery['per'], starts: ReturnType<typeof startsOf>) {
  const sumPer = (table: string, { columns, where }: { columns: string; where: string }) => `
    SELECT ${starts[per]} AS "startHour", ${columns}, ${SELECT_SUMS}
    FROM ${table} WHERE ${where} hour >= :from AND hour < :until
    GROUP BY "startHour", ${columns.replace(/ AS "\w+"/, '')} ORDER BY "startHour" LIMIT :limit`;
  const ofCallers = 'caller, model';
  const ofGroups = 'group_id AS "groupId", caller, model';
  return named(`usage_${per}`, {
    ofAll: sumPer('usage', { columns: ofCallers, where: '' }),
    ofCaller: sumPer('usage', { columns: ofCallers, where: 'caller = :whose AND' }),
    ofGroups: sumPer('group_usage', { columns: ofGroups, where: '' }),
    ofGroup: sumPer('group_usage', { columns: ofGroups, where: 'group_id = :whose AND' }),
  });
}

function rollupStatements({ compileNothing, locks }: Dialect) {
  return named('rollup', {
    // One aggregate for each SELECT, or SQLite reads the whole table.
    findSpan: `
      SELECT coalesce((SELECT min(hour) FROM usage), 0) AS "from",
        coalesce((SELECT max(hour) FROM usage) + 1, 0) AS until`,
    compileNothing,
    findRollupsIn: `
      SELECT kind, start, hours FROM usage_rollups WHERE kind = :kind AND start >= :from AND until <= :until
        AND is_current = 1 AND (CAST(:isByTime AS INTEGER) = 0 OR hours = ${DAY_HOURS})`,
    listRollups: 'SELECT kind, start, hours FROM usage_rollups WHERE is_current = 1',
    lockRollups: locks.rollups,
    findRollup: `
      SELECT 1 AS found FROM usage_rollups
      WHERE kind = :kind AND start = :start AND hours = :hours AND is_current = 1`,
    removeSums: REMOVE_ROLLUP_SUMS,
    markRollup: `
      INSERT INTO usage_rollups (kind, start, hours, until, is_current)
      VALUES (:kind, :start, :hours, CAST(:start AS BIGINT) + CAST(:hours AS BIGINT), 1)
      ON CONFLICT (kind, start, hours) DO UPDATE SET is_current = 1`,
  });
}

export const REMOVE_ROLLUP_SUMS = 'DELETE FROM usage_sums WHERE kind = :kind AND start = :start AND hours = :hours';

/** What comes before a change of usage that may be rolled up already. */
export const FORGET_ROLLUPS = 'UPDATE usage_rollups SET is_current = 0 WHERE until > :from AND start <= :until';
