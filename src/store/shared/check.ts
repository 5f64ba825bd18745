import { formatAmount } from '../../core/money/decimal.ts';

export interface DatabaseCheck {
  readonly records: number;
  readonly keys: number;
  /** A sentence each; none when all is well. */
  readonly problems: readonly string[];
}

/** Of each kind. */
export const MAX_PROBLEMS = 20;

/** An amount of a key, and what its entries or its requests add up to. */
export interface WrongSum {
  readonly keyId: string;
  readonly micro: number;
  readonly sumMicro: number;
}

/** The balance of a prepaid key is the sum of its ledger. */
export function describeUnbalanced({ keyId, micro, sumMicro }: WrongSum): string {
  return `${keyId}: its balance is ${formatAmount(micro)}, but its ledger adds up to ${formatAmount(sumMicro)}.`;
}

/** What a key holds is what its running requests have reserved. */
export function describeWrongHold({ keyId, micro, sumMicro }: WrongSum): string {
  return `${keyId}: it holds ${formatAmount(micro)}, but its running requests hold ${formatAmount(sumMicro)}.`;
}
