import { SPENDING_COLUMNS, spendingCondition, type SpendingRow, type SpendingStep } from '../rows/alerts.ts';
import type { Operations } from '../queue/operations.ts';
import type { Statement } from './pool.ts';
import type { Remote, RemoteChanges } from './remote.ts';

const CONDITION = spendingCondition({ percent: '$2::bigint', day: '$3', month: '$4', nowMs: '$5' });

const LISTS: Readonly<Record<SpendingStep['of'], Statement>> = {
  keys: { name: 'list_spending_keys', text: listFrom('keys') },
  groups: { name: 'list_spending_groups', text: listFrom('groups') },
};

function listFrom(table: SpendingStep['of']): string {
  return `
    SELECT ${SPENDING_COLUMNS[table]} FROM ${table} WHERE seq < $1 AND ${CONDITION}
    ORDER BY seq DESC LIMIT $6`;
}

// Of transactions that write the same row the later one sees what the earlier one has written.
const CLAIM: Statement = {
  name: 'claim_alert',
  text: `
    INSERT INTO alerts AS known (subject, period, level, claimed_at_ms) VALUES ($1, $2, $3, $4)
    ON CONFLICT (subject) DO UPDATE
      SET period = excluded.period, level = excluded.level, claimed_at_ms = excluded.claimed_at_ms
      WHERE known.period <> excluded.period OR known.level < excluded.level OR known.claimed_at_ms < $5`,
};

export const ALERT_LOOKUPS: Remote<Pick<Operations, 'listSpending'>> = {
  listSpending: (connection, { of, beforeSeq, percent, day, month, nowMs, limit }) =>
    connection.rows<SpendingRow>(LISTS[of], [beforeSeq, percent, day, month, nowMs, limit]),
};

export const ALERT_CHANGES: RemoteChanges<Pick<Operations, 'claimAlert'>> = {
  async claimAlert(connection, { subject, period, level, nowMs, validFromMs }) {
    return { result: (await connection.changes(CLAIM, [subject, period, level, nowMs, validFromMs])) === 1 };
  },
};
