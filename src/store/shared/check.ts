import { formatAmount } from '../../core/money/decimal.ts';

export interface DatabaseCheck {
  readonly records: number;
  readonly keys: number;
  /** A sentence each; none when all is well. */
  readonly problems: readonly string[];
}

/** Of each kind. */
export const MAX_PROBLEMS = 20;

/** What stands at a key, and what its entries or its requests add up to. */
export type WrongSum = [keyId: string, micro: number, sumMicro: number];

/** The balance of a prepaid key is the sum of its ledger. */
export function describeUnbalanced([keyId, balance, sum]: WrongSum): string {
  return `${keyId}: its balance is ${formatAmount(balance)}, but its ledger adds up to ${formatAmount(sum)}.`;
}

/** What a key holds is what its running requests have reserved. */
export function describeWrongHold([keyId, held, sum]: WrongSum): string {
  return `${keyId}: it holds ${formatAmount(held)}, but its running requests hold ${formatAmount(sum)}.`;
}
