import type { CalendarDay, Hold } from '../../core/books/keys.ts';
import { SPEND_WINDOWS, type SpendLimits, type SpendWindow, type Spent } from '../../core/money/limits.ts';
import { recordOf } from '../../core/map-values.ts';

/** The sums belong to the latest day, week and month that have a charge, as `CalendarDay` counts them. */
export interface Funds extends Spent, Readonly<Record<SpendWindow['per'], number>> {
  /** Reservations are already subtracted; null when the key is not prepaid. */
  readonly balanceMicro: number | null;
  readonly heldMicro: number;
}

const MAX = Number.MAX_SAFE_INTEGER;

/** Throws RangeError unless the amount is a safe integer and not negative. */
export function checkAmount(amountMicro: number): void {
  if (!Number.isSafeInteger(amountMicro) || amountMicro < 0) {
    throw new RangeError(`an amount must be a safe integer and not negative, not ${amountMicro}`);
  }
}

/** Returns the charges of this day, its week and its month. */
export function spentAt(funds: Funds, today: CalendarDay): Spent {
  return recordOf(SPEND_WINDOWS, (window) => [window.spent, spentIn(funds, window, today)]);
}

/** When the clock was set back, the latest charges continue: otherwise the limits of a day could be used twice. */
function spentIn(funds: Funds, { per, spent }: SpendWindow, today: CalendarDay): number {
  return funds[per] >= today[per].number ? funds[spent] : 0;
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
  let roomMicro = MAX;
  for (const window of SPEND_WINDOWS) {
    const limitMicro = limits[window.limit];
    if (limitMicro !== null) roomMicro = Math.min(roomMicro, limitMicro - spentIn(funds, window, today));
  }
  return heldMicro > roomMicro - funds.heldMicro ? 'spend_limit_exceeded' : undefined;
}

/** Returns the funds with one more hold, which must not have been refused. */
export function reserve<Payer extends Funds>(funds: Payer, heldMicro: number): Payer {
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
export function settle<Payer extends Funds>(
  funds: Payer,
  { heldMicro, costMicro, today }: Settlement,
): { funds: Payer; chargedMicro: number } {
  const { balanceMicro } = funds;
  const payableMicro = balanceMicro === null ? MAX : Math.max(heldMicro, balanceMicro + 2 * heldMicro);
  const chargedMicro = Math.min(costMicro, payableMicro);
  const settled = {
    ...funds,
    balanceMicro: balanceMicro === null ? null : balanceMicro + heldMicro - chargedMicro,
    heldMicro: funds.heldMicro - heldMicro,
  };
  addSpent(settled, costMicro, today);
  return { chargedMicro, funds: settled };
}

type Writable<Fields> = { -readonly [Name in keyof Fields]: Fields[Name] };

function addSpent(funds: Writable<Funds>, costMicro: number, today: CalendarDay): void {
  for (const window of SPEND_WINDOWS) {
    const { per, spent } = window;
    funds[spent] = Math.min(spentIn(funds, window, today) + costMicro, MAX);
    funds[per] = Math.max(funds[per], today[per].number);
  }
}

/**
 * Takes a charge back. A day, week or month that has ended keeps its sum. `refundedMicro` is less only at
 * the limit of the safe integers.
 */
export function refund<Payer extends Funds>(
  funds: Payer,
  { costMicro, today }: Charge,
): { funds: Payer; refundedMicro: number } {
  const { balanceMicro, heldMicro } = funds;
  const refundedMicro = Math.min(costMicro, MAX - heldMicro - (balanceMicro ?? 0));
  const refunded = { ...funds, balanceMicro: balanceMicro === null ? null : balanceMicro + refundedMicro };
  takeSpent(refunded, refundedMicro, today);
  return { refundedMicro, funds: refunded };
}

function takeSpent(funds: Writable<Funds>, refundedMicro: number, today: CalendarDay): void {
  for (const { per, spent } of SPEND_WINDOWS) {
    if (funds[per] === today[per].number) funds[spent] = Math.max(0, funds[spent] - refundedMicro);
  }
}

/**
 * Adds credits, which may be negative. A key that becomes prepaid pays `reservedMicro` for its
 * current holds. Throws RangeError when the balance would leave the safe integers.
 */
export function credit<Payer extends Funds>(
  funds: Payer,
  amountMicro: number,
): { funds: Payer; reservedMicro: number } {
  const reservedMicro = funds.balanceMicro === null ? funds.heldMicro : 0;
  const balanceMicro = (funds.balanceMicro ?? 0) + amountMicro - reservedMicro;
  // Holds return to the balance when their requests end without a cost.
  if (!Number.isSafeInteger(balanceMicro) || !Number.isSafeInteger(balanceMicro + funds.heldMicro)) {
    throw new RangeError('the balance of the key would be too large to count');
  }
  return { funds: { ...funds, balanceMicro }, reservedMicro };
}
