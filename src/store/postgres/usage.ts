import type { UsageQuery } from '../../core/books/keys.ts';
import type { GroupUsageRow, HourSpan, UsageSumRow } from '../rows/usage.ts';
import { POSTGRES } from '../sql/dialect.ts';
import { usageStatements } from '../sql/usage.ts';
import type { Remote } from './remote.ts';
import { mapValues } from '../../core/map-values.ts';
import { UPKEEP, toNumbered } from './statements.ts';

const per = usageStatements(POSTGRES);
const SUMS = {
  hour: mapValues(per('hour'), toNumbered),
  day: mapValues(per('day'), toNumbered),
  month: mapValues(per('month'), toNumbered),
} satisfies Record<UsageQuery['per'], unknown>;

export const USAGE_LOOKUPS: Remote<'sumUsage' | 'sumGroupUsage' | 'findUsageSpan'> = {
  sumUsage: (connection, caller, per, span, limit) =>
    connection.rows<UsageSumRow>(SUMS[per][caller === null ? 'ofAll' : 'ofCaller'], { ...span, limit, whose: caller }),
  sumGroupUsage: (connection, groupId, per, span, limit) =>
    connection.rows<GroupUsageRow>(SUMS[per][groupId === null ? 'ofGroups' : 'ofGroup'], {
      ...span,
      limit,
      whose: groupId,
    }),
  async findUsageSpan(connection) {
    const [span = { from: 0, until: 0 }] = await connection.rows<HourSpan>(UPKEEP.findUsageSpan);
    return span;
  },
};
