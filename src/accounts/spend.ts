import type { StoredKey } from '../store/keys.ts';

export interface SpendWindow {
  readonly per: 'day' | 'month';
  readonly limitMicro: number;
  /** What is held counts as spent; below zero when a request cost more than was held for it. */
  readonly leftMicro: number;
  readonly endsAtMs: number;
}

/** The spend limits of a key in the UTC day and month of this moment, as far as it has any. */
export function spendWindowsOf(key: StoredKey, nowMs: number): readonly SpendWindow[] {
  const { limits, heldMicro } = key;
  const now = new Date(nowMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  const all = [
    {
      per: 'day',
      limitMicro: limits.spendPerDayMicro,
      spentMicro: key.spentTodayMicro,
      endsAtMs: Date.UTC(year, month, day + 1),
    },
    {
      per: 'month',
      limitMicro: limits.spendPerMonthMicro,
      spentMicro: key.spentThisMonthMicro,
      endsAtMs: Date.UTC(year, month + 1),
    },
  ] as const;
  return all.flatMap(({ per, limitMicro, spentMicro, endsAtMs }) =>
    limitMicro === null ? [] : [{ per, limitMicro, leftMicro: limitMicro - spentMicro - heldMicro, endsAtMs }],
  );
}
