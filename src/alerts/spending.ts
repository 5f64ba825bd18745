import { SPEND_WINDOWS, type SpendWindow } from '../core/money/limits.ts';
import type { AccountSpending } from '../core/books/alerts.ts';

/** What an account has used of its credits, or of the spend limit of this day, week or month. */
export interface Spending {
  readonly of: 'credits' | SpendWindow['per'];
  readonly usedMicro: number;
  /** More than zero. */
  readonly limitMicro: number;
  /** Changes with the day, week or month, with a grant, and with the limit. */
  readonly period: string;
  /** Null for credits, which need a grant. */
  readonly opensAtMs: number | null;
}

export function spendingOf(account: AccountSpending): readonly Spending[] {
  const { fundedMicro, fundedAtMs, leftMicro, today } = account;
  const all = [
    {
      of: 'credits',
      usedMicro: Math.max(0, (fundedMicro ?? 0) - leftMicro),
      limitMicro: fundedMicro,
      since: fundedAtMs,
      opensAtMs: null,
    },
    ...SPEND_WINDOWS.map(({ per, spent, limit }) => ({
      of: per,
      usedMicro: account[spent],
      limitMicro: account[limit],
      since: today[per].name,
      opensAtMs: today[per].endsAtMs,
    })),
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
