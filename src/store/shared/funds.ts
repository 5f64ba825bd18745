/** What a key has left and what it may still spend: arithmetic alone, the same for every engine. */
import { DAY_MS } from '../../core/time.ts';
import type { Hold } from '../keys.ts';

/** Where a key stands. What was spent belongs to the latest UTC day and month in which anything was charged. */
export interface Funds {
  /** Reservations already taken off; null when the key is not prepaid. */
  readonly balanceMicro: number | null;
  readonly heldMicro: number;
  readonly day: number;
  readonly daySpentMicro: number;
  readonly month: number;
  readonly monthSpentMicro: number;
}

export interface SpendLimits {
  readonly spendPerDayMicro: number | null;
  readonly spendPerMonthMicro: number | null;
}

const MAX = Number.MAX_SAFE_INTEGER;

/** Throws RangeError for anything but a whole number of millionths, not negative, that is known exactly. */
export function checkAmount(amountMicro: number): void {
  if (!Number.isSafeInteger(amountMicro) || amountMicro < 0) {
    throw new RangeError(`an amount must be a safe integer and not negative, not ${amountMicro}`);
  }
}

/** The UTC day which a moment falls on, counted from 1970. */
export function dayOf(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}

/** The UTC month which a moment falls in, counted from the year 0. */
export function monthOf(atMs: number): number {
  const date = new Date(atMs);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/**
 * What was spent in the day and in the month of a moment. A clock that was set back stays in the windows of its latest
 * charge: otherwise the limits of a day could be used twice.
 */
export function spentAt(funds: Funds, atMs: number): { readonly dayMicro: number; readonly monthMicro: number } {
  return {
    dayMicro: funds.day >= dayOf(atMs) ? funds.daySpentMicro : 0,
    monthMicro: funds.month >= monthOf(atMs) ? funds.monthSpentMicro : 0,
  };
}

/** Why a hold cannot be taken now; undefined when it can. What others hold counts as spent. */
export function refusalOf(
  funds: Funds,
  limits: SpendLimits,
  { heldMicro, interruptedCostMicro }: Hold,
  atMs: number,
): 'insufficient_credits' | 'spend_limit_exceeded' | undefined {
  const balanceMicro = funds.balanceMicro ?? MAX;
  // What seems to cost nothing may still turn out to cost something, unless its model has no price.
  const isForFunds = heldMicro > 0 || interruptedCostMicro !== null;
  if (balanceMicro < heldMicro || (isForFunds && balanceMicro <= 0)) return 'insufficient_credits';
  const spent = spentAt(funds, atMs);
  const roomMicro = Math.min(
    roomOf(limits.spendPerDayMicro, spent.dayMicro),
    roomOf(limits.spendPerMonthMicro, spent.monthMicro),
  );
  return heldMicro > roomMicro - funds.heldMicro ? 'spend_limit_exceeded' : undefined;
}

function roomOf(limitMicro: number | null, spentMicro: number): number {
  return limitMicro === null ? MAX : limitMicro - spentMicro;
}

/** Takes a hold which was not refused. */
export function reserve(funds: Funds, heldMicro: number): Funds {
  return {
    ...funds,
    balanceMicro: funds.balanceMicro === null ? null : funds.balanceMicro - heldMicro,
    heldMicro: funds.heldMicro + heldMicro,
  };
}

export interface Settlement {
  readonly heldMicro: number;
  readonly costMicro: number;
  readonly atMs: number;
}

/**
 * Gives a hold back and charges what the request has cost. Returns also what was charged, which is less than the cost only
 * where the balance would leave the safe integers.
 */
export function settle(
  funds: Funds,
  { heldMicro, costMicro, atMs }: Settlement,
): { funds: Funds; chargedMicro: number } {
  const releasedMicro = funds.balanceMicro === null ? null : funds.balanceMicro + heldMicro;
  const chargedMicro = releasedMicro === null ? costMicro : Math.min(costMicro, MAX + releasedMicro);
  const spent = spentAt(funds, atMs);
  return {
    chargedMicro,
    funds: {
      balanceMicro: releasedMicro === null ? null : releasedMicro - chargedMicro,
      heldMicro: funds.heldMicro - heldMicro,
      day: Math.max(funds.day, dayOf(atMs)),
      daySpentMicro: Math.min(spent.dayMicro + chargedMicro, MAX),
      month: Math.max(funds.month, monthOf(atMs)),
      monthSpentMicro: Math.min(spent.monthMicro + chargedMicro, MAX),
    },
  };
}

/**
 * Adds credits, also negative ones. A key that becomes prepaid by them pays from them for what it holds already, so that
 * `reservedMicro` more is taken off. Throws RangeError when the balance would leave the safe integers.
 */
export function credit(funds: Funds, amountMicro: number): { funds: Funds; reservedMicro: number } {
  const reservedMicro = funds.balanceMicro === null ? funds.heldMicro : 0;
  const balanceMicro = (funds.balanceMicro ?? 0) + amountMicro - reservedMicro;
  // What is held comes back at once when its requests end without a cost.
  if (!Number.isSafeInteger(balanceMicro) || !Number.isSafeInteger(balanceMicro + funds.heldMicro)) {
    throw new RangeError('the balance of the key would be too large to count');
  }
  return { funds: { ...funds, balanceMicro }, reservedMicro };
}
