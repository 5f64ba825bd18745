import { formerOf, type ChargedCurrency, type SpendingRow } from '../rows/alerts.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import { UPKEEP } from './statements.ts';

const LISTS = { keys: UPKEEP.listSpendingKeys, groups: UPKEEP.listSpendingGroups };

export const ALERT_LOOKUPS: Remote<'listSpending'> = {
  listSpending: (connection, step) => connection.rows<SpendingRow>(LISTS[step.of], { ...step }),
};

export const ALERT_CHANGES: RemoteChanges<'claimAlert' | 'noteCurrency'> = {
  async noteCurrency(connection, currency) {
    const [known] = await connection.rows<ChargedCurrency>(UPKEEP.findCurrency, {});
    if (known?.currency !== currency) await connection.changes(UPKEEP.noteCurrency, { currency });
    return { result: formerOf(known, currency) };
  },
  async claimAlert(connection, claim) {
    return { result: (await connection.changes(UPKEEP.claimAlert, { ...claim })) === 1 };
  },
};
