import type { SpendingRow } from '../rows/alerts.ts';
import type { Operations } from '../queue/operations.ts';
import { POSTGRES } from '../sql/dialect.ts';
import { upkeepStatements } from '../sql/usage.ts';
import { numbered } from './numbered.ts';
import type { Remote, RemoteChanges } from './remote.ts';

const SQL = numbered(upkeepStatements(POSTGRES));
const LISTS = { keys: SQL.listSpendingKeys, groups: SQL.listSpendingGroups };

export const ALERT_LOOKUPS: Remote<Pick<Operations, 'listSpending'>> = {
  listSpending: (connection, step) => connection.rows<SpendingRow>(LISTS[step.of], { ...step }),
};

export const ALERT_CHANGES: RemoteChanges<Pick<Operations, 'claimAlert'>> = {
  async claimAlert(connection, claim) {
    return { result: (await connection.changes(SQL.claimAlert, { ...claim })) === 1 };
  },
};
