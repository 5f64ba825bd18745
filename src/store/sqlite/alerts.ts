import type { Database } from 'better-sqlite3';
import {
  SPENDING_COLUMNS,
  spendingCondition,
  type ClaimRow,
  type SpendingRow,
  type SpendingStep,
} from '../rows/alerts.ts';

export function prepareAlerts(database: Database) {
  // A number would come as a fraction, which is not exact for large amounts.
  const percent = 'CAST(:percent AS INTEGER)';
  const condition = spendingCondition({ percent, day: ':day', month: ':month', nowMs: ':nowMs' });
  const prepareSelect = (table: SpendingStep['of']) =>
    database.prepare<[SpendingStep], SpendingRow>(`
      SELECT ${SPENDING_COLUMNS[table]} FROM ${table} WHERE seq < :beforeSeq AND ${condition}
      ORDER BY seq DESC LIMIT :limit`);
  const selects = { keys: prepareSelect('keys'), groups: prepareSelect('groups') };

  function listSpending(step: SpendingStep): readonly SpendingRow[] {
    return selects[step.of].all(step);
  }

  const upsert = database.prepare<[ClaimRow]>(`
    INSERT INTO alerts (subject, period, level, claimed_at_ms) VALUES (:subject, :period, :level, :nowMs)
    ON CONFLICT DO UPDATE SET period = excluded.period, level = excluded.level, claimed_at_ms = excluded.claimed_at_ms
    WHERE period <> excluded.period OR level < excluded.level OR claimed_at_ms < :validFromMs`);

  function claimAlert(claim: ClaimRow): boolean {
    return upsert.run(claim).changes === 1;
  }

  return { listSpending, claimAlert };
}
