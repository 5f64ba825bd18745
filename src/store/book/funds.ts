import type { CalendarDay } from '../../core/books/calendar.ts';
import type { Hold } from '../../core/books/keys.ts';

/** The sums belong to the latest day, week and month that have a charge, as `CalendarDay` counts them. */
export interface Funds {
  /** Reservations are already subtracted; null when the key is not prepaid. */
  readonly balanceMicro: number | null;
  readonly heldMicro: number;
  readonly day: number;
  readonly daySpentMicro: number;
  readonly week: number;
  readonly weekSpentMicro: number;
  readonly month: number;
  readonly monthSpentMicro: number;
}

export interface SpendLimits {
  readonly spendPerDayMicro: number | null;
  readonly spendPerWeekMicro: number | null;
  readonly spendPerMonthMicro: number | null;
}

const MAX = Number.MAX_SAFE_INTEGER;

/** Throws RangeError unless the amount is a safe integer and not negative. */
export function checkAmount(amountMicro: number): void {
  if (!Number.isSafeInteger(amountMicro) || amountMicro < 0) {
    throw new RangeError(`an amount must be a safe integer and not negative, not ${amountMicro}`);
  }
}

interface Spent {
  readonly dayMicro: number;
  readonly weekMicro: number;
  readonly monthMicro: number;
}

/**
 * Returns the charges of this day, its week and its month. When the clock was set back, the latest ones
 * continue: otherwise the limits of a day could be used twice.
 */
export function spentAt(funds: Funds, { day, week, month }: CalendarDay): Spent {
  return {
    dayMicro: funds.day >= day ? funds.daySpentMicro : 0,
    weekMicro: funds.week >= week ? funds.weekSpentMicro : 0,
    monthMicro: funds.month >= month ? funds.monthSpentMicro : 0,
  };
}

/** Returns why a hold cannot be taken; undefined when it can. Other holds count as spent. */
export function refusalOf(
  funds: Funds,
  limits: SpendLimits,
  { heldMicro, interruptedCostMicro }: Hold,
  today: CalendarDay,
): 'insufficient_credits' | 'spend_limit_exceeded' | undefined {
  const balanceMicro = funds.balanceMicro ?? MAX;
  // A request that seems free may still cost something, unless its model has no price.
  const isForFunds = heldMicro > 0 || interruptedCostMicro !== null;
  if (balanceMicro < heldMicro || (isForFunds && balanceMicro <= 0)) return 'insufficient_credits';
  const spent = spentAt(funds, today);
  const roomMicro = Math.min(
    roomOf(limits.spendPerDayMicro, spent.dayMicro),
    roomOf(limits.spendPerWeekMicro, spent.weekMicro),
    roomOf(limits.spendPerMonthMicro, spent.monthMicro),
  );
  return heldMicro > roomMicro - funds.heldMicro ? 'spend_limit_exceeded' : undefined;
}

function roomOf(limitMicro: number | null, spentMicro: number): number {
  return limitMicro === null ? MAX : limitMicro - spentMicro;
}

/** Returns the funds with one more hold, which must not have been refused. */
export function reserve(funds: Funds, heldMicro: number): Funds {
  return {
    ...funds,
    balanceMicro: funds.balanceMicro === null ? null : funds.balanceMicro - heldMicro,
    heldMicro: funds.heldMicro + heldMicro,
  };
}

export interface Charge {
  readonly costMicro: number;
  readonly today: CalendarDay;
}

export interface Settlement extends Charge {
  readonly heldMicro: number;
}

/**
 * Charges the cost of a hold. `chargedMicro` is less where a backend has counted so much beyond it that the account would owe
 * more than this hold, or than it owes already. So nobody spends more than their funds and one reservation, whatever backends count. Days, weeks and
 * months have the whole cost.
 */
export function settle(
  funds: Funds,
  { heldMicro, costMicro, today }: Settlement,
): { funds: Funds; chargedMicro: number } {
  const { balanceMicro } = funds;
  const payableMicro = balanceMicro === null ? MAX : Math.max(heldMicro, balanceMicro + 2 * heldMicro);
  const chargedMicro = Math.min(costMicro, payableMicro);
  const spent = spentAt(funds, today);
  return {
    chargedMicro,
    funds: {
      balanceMicro: balanceMicro === null ? null : balanceMicro + heldMicro - chargedMicro,
      heldMicro: funds.heldMicro - heldMicro,
      day: Math.max(funds.day, today.day),
      daySpentMicro: Math.min(spent.dayMicro + costMicro, MAX),
      week: Math.max(funds.week, today.week),
      weekSpentMicro: Math.min(spent.weekMicro + costMicro, MAX),
      month: Math.max(funds.month, today.month),
      monthSpentMicro: Math.min(spent.monthMicro + costMicro, MAX),
    },
  };
}

/**
 * Takes a charge back. A day, week or month that has ended keeps its sum. `refundedMicro` is less only at
 * the limit of the safe integers.
 */
export function refund(funds: Funds, { costMicro, today }: Charge): { funds: Funds; refundedMicro: number } {
  const { balanceMicro, heldMicro, day, daySpentMicro, week, weekSpentMicro, month, monthSpentMicro } = funds;
  const refundedMicro = Math.min(costMicro, MAX - heldMicro - (balanceMicro ?? 0));
  const lessOf = (spentMicro: number): number => Math.max(0, spentMicro - refundedMicro);
  return {
    refundedMicro,
    funds: {
      ...funds,
      balanceMicro: balanceMicro === null ? null : balanceMicro + refundedMicro,
      daySpentMicro: day === today.day ? lessOf(daySpentMicro) : daySpentMicro,
      weekSpentMicro: week === today.week ? lessOf(weekSpentMicro) : weekSpentMicro,
      monthSpentMicro: month === today.month ? lessOf(monthSpentMicro) : monthSpentMicro,
    },
  };
}

/**
 * Adds credits, which may be negative. A key that becomes prepaid pays `reservedMicro` for its
 * current holds. Throws RangeError when the balance would leave the safe integers.
 */
export function credit(funds: Funds, amountMicro: number): { funds: Funds; reservedMicro: number } {
  const reservedMicro = funds.balanceMicro === null ? funds.heldMicro : 0;
  const balanceMicro = (funds.balanceMicro ?? 0) + amountMicro - reservedMicro;
  // Holds return to the balance when their requests end without a cost.
  if (!Number.isSafeInteger(balanceMicro) || !Number.isSafeInteger(balanceMicro + funds.heldMicro)) {
    throw new RangeError('the balance of the key would be too large to count');
  }
  return { funds: { ...funds, balanceMicro }, reservedMicro };
}
