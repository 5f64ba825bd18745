import type { Database } from 'better-sqlite3';
import type { GroupId } from '../../contract/ids.ts';
import type { UsageQuery } from '../../core/books/keys.ts';
import type { GroupUsageRow, HourSpan, UsageSumRow } from '../rows/usage.ts';
import { SQLITE } from '../sql/dialect.ts';
import { usageStatements } from '../sql/usage.ts';
import { prepareNamed } from './named.ts';
import { UPKEEP } from './statements.ts';

type Selected = HourSpan & { readonly whose: string | null; readonly limit: number };

export function prepareUsage(database: Database) {
  const statementsPer = usageStatements(SQLITE);
  const prepareSums = (per: UsageQuery['per']) => {
    const { ofAll, ofCaller, ofGroups, ofGroup } = statementsPer(per);
    return {
      ofAll: prepareNamed<Selected, UsageSumRow>(database, ofAll),
      ofCaller: prepareNamed<Selected, UsageSumRow>(database, ofCaller),
      ofGroups: prepareNamed<Selected, GroupUsageRow>(database, ofGroups),
      ofGroup: prepareNamed<Selected, GroupUsageRow>(database, ofGroup),
    };
  };
  const sums = { hour: prepareSums('hour'), day: prepareSums('day'), month: prepareSums('month') };
  const selectSpan = prepareNamed<object, HourSpan>(database, UPKEEP.findUsageSpan);

  function sumUsage(
    caller: string | null,
    per: UsageQuery['per'],
    span: HourSpan,
    limit: number,
  ): readonly UsageSumRow[] {
    return sums[per][caller === null ? 'ofAll' : 'ofCaller'].all({ whose: caller, limit, ...span });
  }

  function sumGroupUsage(
    groupId: GroupId | null,
    per: UsageQuery['per'],
    span: HourSpan,
    limit: number,
  ): readonly GroupUsageRow[] {
    return sums[per][groupId === null ? 'ofGroups' : 'ofGroup'].all({ whose: groupId, limit, ...span });
  }

  return { sumUsage, sumGroupUsage, findUsageSpan: () => selectSpan.get({}) ?? { from: 0, until: 0 } };
}
