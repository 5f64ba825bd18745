import type { AccountSpending } from '../core/books/alerts.ts';

/** What an account has used of its credits, or of the spend limit of this day, week or month. */
export interface Spending {
  readonly of: 'credits' | 'day' | 'week' | 'month';
  readonly usedMicro: number;
  /** More than zero. */
  readonly limitMicro: number;
  /** Changes with the day, week or month, with a grant, and with the limit. */
  readonly period: string;
  /** Null for credits, which need a grant. */
  readonly opensAtMs: number | null;
}

/** Returns what the account has used of everything that limits its spending. */
export function spendingOf(account: AccountSpending): readonly Spending[] {
  const { fundedMicro, fundedAtMs, leftMicro, spentTodayMicro, today } = account;
  const all = [
    {
      of: 'credits',
      usedMicro: Math.max(0, (fundedMicro ?? 0) - leftMicro),
      limitMicro: fundedMicro,
      since: fundedAtMs,
      opensAtMs: null,
    },
    {
      of: 'day',
      usedMicro: spentTodayMicro,
      limitMicro: account.spendPerDayMicro,
      since: today.date,
      opensAtMs: today.endsAtMs,
    },
    {
      of: 'week',
      usedMicro: account.spentThisWeekMicro,
      limitMicro: account.spendPerWeekMicro,
      since: today.week,
      opensAtMs: today.weekEndsAtMs,
    },
    {
      of: 'month',
      usedMicro: account.spentThisMonthMicro,
      limitMicro: account.spendPerMonthMicro,
      since: today.date.slice(0, 'yyyy-mm'.length),
      opensAtMs: today.monthEndsAtMs,
    },
  ] as const;
  return all.flatMap(({ since, limitMicro, ...spending }) =>
    limitMicro === null || limitMicro <= 0 ? [] : [{ ...spending, limitMicro, period: `${since} ${limitMicro}` }],
  );
}

/** Returns the share in percent, rounded down. */
export function percentOf({ usedMicro, limitMicro }: Spending): number {
  return Math.floor((usedMicro / limitMicro) * 100);
}

/** Returns the highest of the thresholds that is reached. */
export function reachedBy(spending: Spending, thresholds: readonly number[]): number | undefined {
  return thresholds.findLast((threshold) => spending.usedMicro >= (spending.limitMicro * threshold) / 100);
}
