import type { CalendarDay } from '../../core/books/keys.ts';
import type { AccountSpending, UsableAccount } from '../../core/books/alerts.ts';
import { recordOf } from '../../core/map-values.ts';
import { SPEND_WINDOWS, type SpendWindow } from '../../core/money/limits.ts';
import { spentAt, type Funds } from '../book/funds.ts';
import { columnOf, selected } from './columns.ts';

export interface SpendingStep extends Readonly<Record<SpendWindow['per'], number>> {
  readonly of: 'keys' | 'groups';
  readonly percent: number;
  readonly beforeSeq: number;
  readonly limit: number;
  readonly nowMs: number;
}

export interface SpendingRow extends Funds, UsableAccount {
  readonly fundedMicro: number | null;
  readonly fundedAtMs: number | null;
}

export interface ChargedCurrency {
  readonly currency: string;
  /** Whether anything has had a cost. */
  readonly isCharged: 0 | 1;
}

/** Returns the currency in which something was charged before, if it is another one. */
export function formerOf(known: ChargedCurrency | undefined, currency: string): string | null {
  return known?.isCharged === 1 && known.currency !== currency ? known.currency : null;
}

export interface ClaimRow {
  readonly subject: string;
  readonly period: string;
  readonly level: number;
  readonly nowMs: number;
  /** A claim from before this time no longer counts. */
  readonly validFromMs: number;
}

const SPENDING = SPEND_WINDOWS.flatMap(({ per, spent, limit }) => [per, spent, limit]);
const FUNDS = selected(['balanceMicro', 'heldMicro', ...SPENDING, 'fundedMicro', 'fundedAtMs']);

export const SPENDING_COLUMNS = {
  keys: `seq, key_id AS id, name, group_id AS "groupId",
    (SELECT groups.name FROM groups WHERE groups.group_id = keys.group_id) AS "groupName", ${FUNDS}`,
  groups: `seq, group_id AS id, name, NULL AS "groupId", NULL AS "groupName", ${FUNDS}`,
};

/** Amounts are safe integers, so that a hundred times of one is within 64 bits. */
export const SPENDING_CONDITION = spendingCondition();

function spendingCondition(): string {
  const percent = 'CAST(:percent AS BIGINT)';
  const windows = SPEND_WINDOWS.map(({ per, ...window }) => {
    const [limit, spent] = [columnOf(window.limit), columnOf(window.spent)];
    return `OR (${limit} > 0
        AND CASE WHEN ${per} >= :${per} THEN ${spent} ELSE 0 END * 100 >= ${limit} * ${percent})`;
  });
  return `is_disabled = 0 AND (expires_at_ms IS NULL OR expires_at_ms > :nowMs) AND (
      (balance_micro IS NOT NULL AND funded_micro > 0
        AND (balance_micro + held_micro) * 100 <= funded_micro * (100 - ${percent}))
      ${windows.join(' ')})`;
}

/** Returns what the account has spent on this day, in its week and in its month. */
export function toSpending(row: SpendingRow, today: CalendarDay): AccountSpending {
  const { seq, id, name, groupId, groupName, balanceMicro, heldMicro } = row;
  return {
    seq,
    id,
    name,
    groupId,
    groupName,
    fundedMicro: balanceMicro === null ? null : row.fundedMicro,
    fundedAtMs: row.fundedAtMs ?? 0,
    leftMicro: (balanceMicro ?? 0) + heldMicro,
    ...recordOf(SPEND_WINDOWS, ({ limit }) => [limit, row[limit]]),
    ...spentAt(row, today),
    today,
  };
}
