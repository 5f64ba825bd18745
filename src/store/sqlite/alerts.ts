import type { Database } from 'better-sqlite3';
import { formerOf, type ChargedCurrency, type ClaimRow, type SpendingRow, type SpendingStep } from '../rows/alerts.ts';
import { prepareNamed } from './named.ts';
import { UPKEEP } from './statements.ts';

export function prepareAlerts(database: Database) {
  const selects = {
    keys: prepareNamed<SpendingStep, SpendingRow>(database, UPKEEP.listSpendingKeys),
    groups: prepareNamed<SpendingStep, SpendingRow>(database, UPKEEP.listSpendingGroups),
  };
  const upsert = prepareNamed<ClaimRow>(database, UPKEEP.claimAlert);
  const findCurrency = prepareNamed<object, ChargedCurrency>(database, UPKEEP.findCurrency);
  const setCurrency = prepareNamed<{ currency: string }>(database, UPKEEP.noteCurrency);

  return {
    noteCurrency(currency: string): string | null {
      const known = findCurrency.get({});
      if (known?.currency !== currency) setCurrency.run({ currency });
      return formerOf(known, currency);
    },
    listSpending: (step: SpendingStep): readonly SpendingRow[] => selects[step.of].all(step),
    claimAlert: (claim: ClaimRow): boolean => upsert.run(claim).changes === 1,
  };
}
