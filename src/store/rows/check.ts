import { WHOLE_GATEWAY } from '../../core/ids.ts';
import { formatAmount } from '../../core/money/decimal.ts';

export interface DatabaseCheck {
  readonly records: number;
  readonly keys: number;
  /** One sentence each; empty when the database is intact. */
  readonly problems: readonly string[];
}

export const MAX_PROBLEMS = 20;

/** Keys and groups, with their numbers in the ledger. */
const ACCOUNTS = `(SELECT key_id AS id, seq, balance_micro, held_micro FROM keys
  UNION ALL SELECT group_id, -seq, balance_micro, held_micro FROM groups) AS accounts`;

export const SELECT_UNBALANCED = `
  SELECT id, balance_micro AS micro, coalesce(sum, 0) AS "sumMicro"
  FROM ${ACCOUNTS} LEFT JOIN (SELECT key, sum(amount_micro) AS sum FROM ledger GROUP BY key) AS sums
    ON sums.key = accounts.seq
  WHERE balance_micro <> coalesce(sum, 0) LIMIT ${MAX_PROBLEMS}`;

export const SELECT_WRONG_HOLDS = `
  SELECT id, held_micro AS micro, coalesce(held, 0) AS "sumMicro"
  FROM ${ACCOUNTS} LEFT JOIN (
    SELECT key, sum(requests.held_micro) AS held FROM requests WHERE owner IS NOT NULL GROUP BY key
    UNION ALL
    SELECT -groups.seq, sum(requests.held_micro) FROM requests JOIN groups ON groups.group_id = requests.group_id
    WHERE owner IS NOT NULL GROUP BY groups.seq
    UNION ALL
    SELECT (SELECT -seq FROM groups WHERE group_id = '${WHOLE_GATEWAY}'), sum(held_micro) FROM requests
    WHERE owner IS NOT NULL AND key IS NOT NULL
  ) AS holds ON holds.key = accounts.seq
  WHERE held_micro <> coalesce(held, 0) LIMIT ${MAX_PROBLEMS}`;

export interface WrongSum {
  readonly id: string;
  readonly micro: number;
  readonly sumMicro: number;
}

export function describeUnbalanced({ id, micro, sumMicro }: WrongSum): string {
  return `${id}: its balance is ${formatAmount(micro)}, but its ledger adds up to ${formatAmount(sumMicro)}.`;
}

export function describeWrongHold({ id, micro, sumMicro }: WrongSum): string {
  return `${id}: it holds ${formatAmount(micro)}, but its running requests hold ${formatAmount(sumMicro)}.`;
}
