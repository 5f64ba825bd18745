import { WHOLE_GATEWAY } from '../../core/ids.ts';
import { formatAmount } from '../../core/money/decimal.ts';
import { named } from './dialect.ts';
import { first, rows, type Steps } from './steps.ts';

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

const STATEMENTS = named('check', {
  count: 'SELECT (SELECT count(*) FROM requests) AS records, (SELECT count(*) FROM keys) AS keys',
  unbalanced: `
  SELECT id, balance_micro AS micro, coalesce(sum, 0) AS "sumMicro"
  FROM ${ACCOUNTS} LEFT JOIN (SELECT key, sum(amount_micro) AS sum FROM ledger GROUP BY key) AS sums
    ON sums.key = accounts.seq
  WHERE balance_micro <> coalesce(sum, 0) LIMIT ${MAX_PROBLEMS}`,
  wrongHolds: `
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
  WHERE held_micro <> coalesce(held, 0) LIMIT ${MAX_PROBLEMS}`,
});

interface WrongSum {
  readonly id: string;
  readonly micro: number;
  readonly sumMicro: number;
}

export function* checkLedger(): Steps<DatabaseCheck> {
  const counts = yield* first<Omit<DatabaseCheck, 'problems'>>(STATEMENTS.count);
  return { records: 0, keys: 0, ...counts, problems: yield* findLedgerProblems() };
}

/** Returns a sentence for each account whose ledger or holds do not add up. */
export function* findLedgerProblems(): Steps<readonly string[]> {
  const unbalanced = yield* rows<WrongSum>(STATEMENTS.unbalanced, {});
  const wrongHolds = yield* rows<WrongSum>(STATEMENTS.wrongHolds, {});
  return [...unbalanced.map(describeUnbalanced), ...wrongHolds.map(describeWrongHold)];
}

function describeUnbalanced({ id, micro, sumMicro }: WrongSum): string {
  return `${id}: its balance is ${formatAmount(micro)}, but its ledger adds up to ${formatAmount(sumMicro)}.`;
}

function describeWrongHold({ id, micro, sumMicro }: WrongSum): string {
  return `${id}: it holds ${formatAmount(micro)}, but its running requests hold ${formatAmount(sumMicro)}.`;
}
