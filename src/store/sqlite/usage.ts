import type { Database } from 'better-sqlite3';
import type { GroupId } from '../../contract/ids.ts';
import type { UsageQuery } from '../keys.ts';
import { SELECT_SUMS, type GroupUsageRow, type HourSpan, type UsageSumRow } from '../rows/usage.ts';

export const STARTS = {
  hour: 'hour',
  day: 'hour / 24 * 24',
  month: `unixepoch(hour * 3600, 'unixepoch', 'start of month') / 3600`,
} satisfies Record<UsageQuery['per'], string>;

export function prepareUsage(database: Database) {
  const prepareSum = (per: UsageQuery['per'], whose: string) =>
    database.prepare<{ caller: string | null; limit: number } & HourSpan, UsageSumRow>(`
      SELECT ${STARTS[per]} AS "startHour", caller, model, ${SELECT_SUMS}
      FROM usage WHERE hour >= :from AND hour < :until ${whose}
      GROUP BY "startHour", caller, model ORDER BY "startHour" LIMIT :limit`);
  const prepareSums = (whose: string) => ({
    hour: prepareSum('hour', whose),
    day: prepareSum('day', whose),
    month: prepareSum('month', whose),
  });
  const sumAll = prepareSums('');
  const sumOwn = prepareSums('AND caller = :caller');

  function sumUsage(
    caller: string | null,
    per: UsageQuery['per'],
    span: HourSpan,
    limit: number,
  ): readonly UsageSumRow[] {
    return (caller === null ? sumAll : sumOwn)[per].all({ caller, limit, ...span });
  }

  const prepareGroupSum = (per: UsageQuery['per'], whose: string) =>
    database.prepare<{ groupId: GroupId | null; limit: number } & HourSpan, GroupUsageRow>(`
      SELECT ${STARTS[per]} AS "startHour", group_id AS "groupId", caller, model, ${SELECT_SUMS}
      FROM group_usage WHERE ${whose} hour >= :from AND hour < :until
      GROUP BY "startHour", group_id, caller, model ORDER BY "startHour" LIMIT :limit`);
  const prepareGroupSums = (whose: string) => ({
    hour: prepareGroupSum('hour', whose),
    day: prepareGroupSum('day', whose),
    month: prepareGroupSum('month', whose),
  });
  const sumAllGroups = prepareGroupSums('');
  const sumOneGroup = prepareGroupSums('group_id = :groupId AND');

  function sumGroupUsage(
    groupId: GroupId | null,
    per: UsageQuery['per'],
    span: HourSpan,
    limit: number,
  ): readonly GroupUsageRow[] {
    return (groupId === null ? sumAllGroups : sumOneGroup)[per].all({ groupId, limit, ...span });
  }

  // One aggregate for each SELECT, or SQLite reads the whole table.
  const selectSpan = database.prepare<[], HourSpan>(`
    SELECT coalesce((SELECT min(hour) FROM usage), 0) AS "from", coalesce((SELECT max(hour) FROM usage) + 1, 0) AS until`);

  function findUsageSpan(): HourSpan {
    return selectSpan.get() ?? { from: 0, until: 0 };
  }

  return { sumUsage, sumGroupUsage, findUsageSpan };
}
