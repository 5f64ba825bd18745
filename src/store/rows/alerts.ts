import type { AccountId, GroupId } from '../../contract/ids.ts';
import type { CalendarDay } from '../../core/books/calendar.ts';
import type { AccountSpending } from '../../core/books/alerts.ts';
import { spentAt, type Funds, type SpendLimits } from '../book/funds.ts';

export interface SpendingStep {
  readonly of: 'keys' | 'groups';
  readonly percent: number;
  readonly beforeSeq: number;
  readonly limit: number;
  readonly day: number;
  readonly week: number;
  readonly month: number;
  readonly nowMs: number;
}

export interface SpendingRow extends Funds, SpendLimits {
  readonly seq: number;
  readonly id: AccountId;
  readonly name: string;
  readonly groupId: GroupId | null;
  readonly groupName: string | null;
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

const FUNDS = `balance_micro AS "balanceMicro", held_micro AS "heldMicro", day, day_spent_micro AS "daySpentMicro",
  week, week_spent_micro AS "weekSpentMicro", month, month_spent_micro AS "monthSpentMicro",
  spend_per_day_micro AS "spendPerDayMicro", spend_per_week_micro AS "spendPerWeekMicro",
  spend_per_month_micro AS "spendPerMonthMicro", funded_micro AS "fundedMicro", funded_at_ms AS "fundedAtMs"`;

export const SPENDING_COLUMNS = {
  keys: `seq, key_id AS id, name, group_id AS "groupId",
    (SELECT groups.name FROM groups WHERE groups.group_id = keys.group_id) AS "groupName", ${FUNDS}`,
  groups: `seq, group_id AS id, name, NULL AS "groupId", NULL AS "groupName", ${FUNDS}`,
};

/** Amounts are safe integers, so that a hundred times of one is within 64 bits. */
export const SPENDING_CONDITION = spendingCondition();

function spendingCondition(): string {
  const percent = 'CAST(:percent AS BIGINT)';
  return `is_disabled = 0 AND (expires_at_ms IS NULL OR expires_at_ms > :nowMs) AND (
      (balance_micro IS NOT NULL AND funded_micro > 0
        AND (balance_micro + held_micro) * 100 <= funded_micro * (100 - ${percent}))
      OR (spend_per_day_micro > 0
        AND CASE WHEN day >= :day THEN day_spent_micro ELSE 0 END * 100 >= spend_per_day_micro * ${percent})
      OR (spend_per_week_micro > 0
        AND CASE WHEN week >= :week THEN week_spent_micro ELSE 0 END * 100 >= spend_per_week_micro * ${percent})
      OR (spend_per_month_micro > 0
        AND CASE WHEN month >= :month THEN month_spent_micro ELSE 0 END * 100 >= spend_per_month_micro * ${percent}))`;
}

/** Returns what the account has spent on this day, in its week and in its month. */
export function toSpending(row: SpendingRow, today: CalendarDay): AccountSpending {
  const { seq, id, name, groupId, groupName, balanceMicro, heldMicro } = row;
  const { spendPerDayMicro, spendPerWeekMicro, spendPerMonthMicro } = row;
  const spent = spentAt(row, today);
  return {
    seq,
    id,
    name,
    groupId,
    groupName,
    fundedMicro: balanceMicro === null ? null : row.fundedMicro,
    fundedAtMs: row.fundedAtMs ?? 0,
    leftMicro: (balanceMicro ?? 0) + heldMicro,
    spendPerDayMicro,
    spentTodayMicro: spent.dayMicro,
    spendPerWeekMicro,
    spentThisWeekMicro: spent.weekMicro,
    spendPerMonthMicro,
    spentThisMonthMicro: spent.monthMicro,
    today,
  };
}
