import type { StoredAccount } from '../core/books/keys.ts';

export interface SpendWindow {
  readonly per: 'day' | 'week' | 'month';
  readonly limitMicro: number;
  /** Counts held credits as spent. Is below zero after a request that cost more than its hold. */
  readonly leftMicro: number;
  readonly endsAtMs: number;
}

/** Returns the spend limits of a key or a group for the day on which it was read, its week and its month. */
export function spendWindowsOf(account: StoredAccount): readonly SpendWindow[] {
  const { limits, heldMicro, today } = account;
  const all = [
    {
      per: 'day',
      limitMicro: limits.spendPerDayMicro,
      spentMicro: account.spentTodayMicro,
      endsAtMs: today.endsAtMs,
    },
    {
      per: 'week',
      limitMicro: limits.spendPerWeekMicro,
      spentMicro: account.spentThisWeekMicro,
      endsAtMs: today.weekEndsAtMs,
    },
    {
      per: 'month',
      limitMicro: limits.spendPerMonthMicro,
      spentMicro: account.spentThisMonthMicro,
      endsAtMs: today.monthEndsAtMs,
    },
  ] as const;
  return all.flatMap(({ per, limitMicro, spentMicro, endsAtMs }) =>
    limitMicro === null ? [] : [{ per, limitMicro, leftMicro: limitMicro - spentMicro - heldMicro, endsAtMs }],
  );
}
