import type { UsageQuery } from '../keys.ts';
import type { Operations } from '../queue/operations.ts';
import { SELECT_SUMS, type GroupUsageRow, type HourSpan, type UsageSumRow } from '../rows/usage.ts';
import type { Remote } from './remote.ts';
import type { Statement } from './pool.ts';

export const STARTS = {
  hour: 'hour',
  day: 'hour / 24 * 24',
  month: `(extract(epoch FROM date_trunc('month', to_timestamp(hour * 3600), 'UTC')) / 3600)::bigint`,
} satisfies Record<UsageQuery['per'], string>;

const toSum = (per: UsageQuery['per'], whose: string): Statement => ({
  name: whose === '' ? `sum_usage_${per}` : `sum_own_usage_${per}`,
  text: `
    SELECT ${STARTS[per]} AS "startHour", caller, model, ${SELECT_SUMS}
    FROM usage WHERE hour >= $1 AND hour < $2 ${whose}
    GROUP BY "startHour", caller, model ORDER BY "startHour" LIMIT $3`,
});

const forEachSpan = (toStatement: typeof toSum, whose: string) => ({
  hour: toStatement('hour', whose),
  day: toStatement('day', whose),
  month: toStatement('month', whose),
});

const SUM_ALL = forEachSpan(toSum, '');
const SUM_OWN = forEachSpan(toSum, 'AND caller = $4');

const toGroupSum = (per: UsageQuery['per'], whose: string): Statement => ({
  name: whose === '' ? `sum_usage_of_groups_${per}` : `sum_usage_of_group_${per}`,
  text: `
    SELECT ${STARTS[per]} AS "startHour", group_id AS "groupId", caller, model, ${SELECT_SUMS}
    FROM group_usage WHERE hour >= $1 AND hour < $2 ${whose}
    GROUP BY "startHour", group_id, caller, model ORDER BY "startHour" LIMIT $3`,
});

const SUM_GROUPS = forEachSpan(toGroupSum, '');
const SUM_GROUP = forEachSpan(toGroupSum, 'AND group_id = $4');

const FIND_SPAN: Statement = {
  name: 'find_usage_span',
  text: 'SELECT coalesce(min(hour), 0) AS "from", coalesce(max(hour) + 1, 0) AS until FROM usage',
};

export const USAGE_LOOKUPS: Remote<Pick<Operations, 'sumUsage' | 'sumGroupUsage' | 'findUsageSpan'>> = {
  sumUsage: (connection, caller, per, { from, until }, limit) =>
    caller === null
      ? connection.rows<UsageSumRow>(SUM_ALL[per], [from, until, limit])
      : connection.rows<UsageSumRow>(SUM_OWN[per], [from, until, limit, caller]),
  sumGroupUsage: (connection, groupId, per, { from, until }, limit) =>
    groupId === null
      ? connection.rows<GroupUsageRow>(SUM_GROUPS[per], [from, until, limit])
      : connection.rows<GroupUsageRow>(SUM_GROUP[per], [from, until, limit, groupId]),
  async findUsageSpan(connection) {
    const [span = { from: 0, until: 0 }] = await connection.rows<HourSpan>(FIND_SPAN);
    return span;
  },
};
