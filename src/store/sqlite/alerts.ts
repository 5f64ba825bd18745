import type { Database } from 'better-sqlite3';
import type { ClaimRow, SpendingRow, SpendingStep } from '../rows/alerts.ts';
import { prepareNamed } from './named.ts';
import { UPKEEP } from './statements.ts';

export function prepareAlerts(database: Database) {
  const selects = {
    keys: prepareNamed<SpendingStep, SpendingRow>(database, UPKEEP.listSpendingKeys),
    groups: prepareNamed<SpendingStep, SpendingRow>(database, UPKEEP.listSpendingGroups),
  };
  const upsert = prepareNamed<ClaimRow>(database, UPKEEP.claimAlert);
  return {
    listSpending: (step: SpendingStep): readonly SpendingRow[] => selects[step.of].all(step),
    claimAlert: (claim: ClaimRow): boolean => upsert.run(claim).changes === 1,
  };
}
