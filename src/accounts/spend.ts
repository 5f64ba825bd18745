import type { StoredAccount } from '../store/keys.ts';

export interface SpendWindow {
  readonly per: 'day' | 'month';
  readonly limitMicro: number;
  /** Counts held credits as spent. Is below zero after a request that cost more than its hold. */
  readonly leftMicro: number;
  readonly endsAtMs: number;
}

/** Returns the spend limits of a key or a group for the current UTC day and month. */
export function spendWindowsOf(account: StoredAccount, nowMs: number): readonly SpendWindow[] {
  const { limits, heldMicro } = account;
  const now = new Date(nowMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const all = [
    {
      per: 'day',
      limitMicro: limits.spendPerDayMicro,
      spentMicro: account.spentTodayMicro,
      endsAtMs: Date.UTC(year, month, day + 1),
    },
    {
      per: 'month',
      limitMicro: limits.spendPerMonthMicro,
      spentMicro: account.spentThisMonthMicro,
      endsAtMs: Date.UTC(year, month + 1),
    },
  ] as const;
  return all.flatMap(({ per, limitMicro, spentMicro, endsAtMs }) =>
    limitMicro === null ? [] : [{ per, limitMicro, leftMicro: limitMicro - spentMicro - heldMicro, endsAtMs }],
  );
}
