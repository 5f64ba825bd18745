import { SPEND_WINDOWS, type SpendWindow } from '../core/money/limits.ts';
import type { StoredAccount } from '../core/books/keys.ts';

export interface SpendRoom {
  readonly per: SpendWindow['per'];
  readonly limitMicro: number;
  /** Counts held credits as spent. Is below zero after a request that cost more than its hold. */
  readonly leftMicro: number;
  readonly endsAtMs: number;
}

/** Returns the spend limits of a key or a group for the day on which it was read, its week and its month. */
export function spendWindowsOf(account: StoredAccount): readonly SpendRoom[] {
  const { limits, heldMicro, today } = account;
  return SPEND_WINDOWS.flatMap(({ per, limit, spent }) => {
    const limitMicro = limits[limit];
    if (limitMicro === null) return [];
    return { per, limitMicro, leftMicro: limitMicro - account[spent] - heldMicro, endsAtMs: today[per].endsAtMs };
  });
}
