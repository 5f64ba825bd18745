import type { UsageQuery } from '../keys.ts';
import type { Operations } from '../queue/operations.ts';
import type { GroupUsageRow, HourSpan, UsageSumRow } from '../rows/usage.ts';
import { POSTGRES } from '../sql/dialect.ts';
import { upkeepStatements, usageStatements } from '../sql/usage.ts';
import { numbered } from './numbered.ts';
import type { Remote } from './remote.ts';

const per = usageStatements(POSTGRES);
const SUMS = {
  hour: numbered(per('hour')),
  day: numbered(per('day')),
  month: numbered(per('month')),
} satisfies Record<UsageQuery['per'], unknown>;
const SQL = numbered(upkeepStatements(POSTGRES));

export const USAGE_LOOKUPS: Remote<Pick<Operations, 'sumUsage' | 'sumGroupUsage' | 'findUsageSpan'>> = {
  sumUsage: (connection, caller, per, span, limit) =>
    connection.rows<UsageSumRow>(SUMS[per][caller === null ? 'ofAll' : 'ofCaller'], { ...span, limit, whose: caller }),
  sumGroupUsage: (connection, groupId, per, span, limit) =>
    connection.rows<GroupUsageRow>(SUMS[per][groupId === null ? 'ofGroups' : 'ofGroup'], {
      ...span,
      limit,
      whose: groupId,
    }),
  async findUsageSpan(connection) {
    const [span = { from: 0, until: 0 }] = await connection.rows<HourSpan>(SQL.findUsageSpan);
    return span;
  },
};
