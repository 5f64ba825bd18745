import type { Database } from 'better-sqlite3';
import type { ClaimRow, SpendingRow, SpendingStep } from '../rows/alerts.ts';
import { SQLITE } from '../sql/dialect.ts';
import { upkeepStatements } from '../sql/usage.ts';
import { prepareNamed } from './named.ts';

const SQL = upkeepStatements(SQLITE);

export function prepareAlerts(database: Database) {
  const selects = {
    keys: prepareNamed<SpendingStep, SpendingRow>(database, SQL.listSpendingKeys),
    groups: prepareNamed<SpendingStep, SpendingRow>(database, SQL.listSpendingGroups),
  };
  const upsert = prepareNamed<ClaimRow>(database, SQL.claimAlert);
  return {
    listSpending: (step: SpendingStep): readonly SpendingRow[] => selects[step.of].all(step),
    claimAlert: (claim: ClaimRow): boolean => upsert.run(claim).changes === 1,
  };
}
