import type { UsageQuery } from '../keys.ts';
import type { Operations } from '../shared/operations.ts';
import { SELECT_SUMS, type HourSpan, type UsageSumRow } from '../shared/usage-rows.ts';
import type { Remote } from './remote.ts';
import type { Statement } from './pool.ts';

const STARTS = {
  hour: 'hour',
  day: 'hour / 24 * 24',
  month: `(extract(epoch FROM date_trunc('month', to_timestamp(hour * 3600), 'UTC')) / 3600)::bigint`,
} satisfies Record<UsageQuery['per'], string>;

const toSum = (per: UsageQuery['per'], whose: string): Statement => ({
  name: whose === '' ? `sum_usage_${per}` : `sum_own_usage_${per}`,
  text: `
    SELECT ${STARTS[per]} AS "startHour", caller, model, ${SELECT_SUMS}
    FROM usage WHERE hour >= $1 AND hour < $2 ${whose}
    GROUP BY "startHour", caller, model ORDER BY "startHour"`,
});

const toSums = (whose: string) => ({
  hour: toSum('hour', whose),
  day: toSum('day', whose),
  month: toSum('month', whose),
});

const SUM_ALL = toSums('');
const SUM_OWN = toSums('AND caller = $3');

const FIND_SPAN: Statement = {
  name: 'find_usage_span',
  text: 'SELECT coalesce(min(hour), 0) AS "from", coalesce(max(hour) + 1, 0) AS until FROM usage',
};

export const USAGE_LOOKUPS: Remote<Pick<Operations, 'sumUsage' | 'findUsageSpan'>> = {
  sumUsage: (connection, caller, per, { from, until }) =>
    caller === null
      ? connection.rows<UsageSumRow>(SUM_ALL[per], [from, until])
      : connection.rows<UsageSumRow>(SUM_OWN[per], [from, until, caller]),
  async findUsageSpan(connection) {
    const [span = { from: 0, until: 0 }] = await connection.rows<HourSpan>(FIND_SPAN);
    return span;
  },
};
