import type { SpendingRow } from '../rows/alerts.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import { UPKEEP } from './statements.ts';

const LISTS = { keys: UPKEEP.listSpendingKeys, groups: UPKEEP.listSpendingGroups };

export const ALERT_LOOKUPS: Remote<'listSpending'> = {
  listSpending: (connection, step) => connection.rows<SpendingRow>(LISTS[step.of], { ...step }),
};

export const ALERT_CHANGES: RemoteChanges<'claimAlert'> = {
  async claimAlert(connection, claim) {
    return { result: (await connection.changes(UPKEEP.claimAlert, { ...claim })) === 1 };
  },
};
