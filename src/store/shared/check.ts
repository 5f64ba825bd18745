import { formatAmount } from '../../core/money/decimal.ts';

export interface DatabaseCheck {
  readonly records: number;
  readonly keys: number;
  /** One sentence each; empty when the database is intact. */
  readonly problems: readonly string[];
}

export const MAX_PROBLEMS = 20;

export interface WrongSum {
  readonly keyId: string;
  readonly micro: number;
  readonly sumMicro: number;
}

export function describeUnbalanced({ keyId, micro, sumMicro }: WrongSum): string {
  return `${keyId}: its balance is ${formatAmount(micro)}, but its ledger adds up to ${formatAmount(sumMicro)}.`;
}

export function describeWrongHold({ keyId, micro, sumMicro }: WrongSum): string {
  return `${keyId}: it holds ${formatAmount(micro)}, but its running requests hold ${formatAmount(sumMicro)}.`;
}
