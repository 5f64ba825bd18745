import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { Client, type QueryResultRow } from 'pg';
import type { AccountId, KeyId } from '../../src/contract/ids.ts';
import { isGroupId } from '../../src/core/ids.ts';

/** What the books of one key or group say, now that they have been found to add up. */
export interface UnitOfWork {
  readonly balanceMicro: number;
  /** Where the balance stood when it was lowest. */
  readonly lowestMicro: number;
  /** What its requests were charged. That is less than they cost where it would owe more than one reservation. */
  readonly spentMicro: number;
  /** How many of its requests were let in. */
  readonly requests: number;
}

interface RequestRow {
  readonly requestId: string;
  readonly heldMicro: number;
  readonly costMicro: number;
  readonly completedAtMs: number;
}

interface AccountRow {
  readonly balanceMicro: number;
  readonly heldMicro: number;
  /** The last one on which anything was spent, counted from 1970. */
  readonly day: number;
  readonly spentMicro: number;
}

interface UsedRow {
  readonly requests: number;
  readonly spentMicro: number;
}

interface EntryRow {
  readonly kind: string;
  readonly amountMicro: number;
  readonly requestId: string | null;
}

/** What the database knows of one key or group. */
interface BookRows {
  /** One, or none. */
  readonly accounts: readonly AccountRow[];
  readonly requests: readonly RequestRow[];
  readonly entries: readonly EntryRow[];
  /** One. */
  readonly used: readonly UsedRow[];
  readonly mayTakeBack: boolean;
}

/** How the rows of an account are found by its id, which is $1. */
interface BookQueries {
  readonly account: string;
  readonly requests: string;
  readonly entries: string;
  readonly used: string;
}

const REQUEST_COLUMNS = `request_id AS "requestId", requests.held_micro AS "heldMicro",
  coalesce(cost_micro, 0) AS "costMicro", completed_at_ms AS "completedAtMs"`;
const ACCOUNT_COLUMNS = `balance_micro AS "balanceMicro", held_micro AS "heldMicro", day, day_spent_micro AS "spentMicro"`;
const ENTRY_COLUMNS = 'kind, amount_micro AS "amountMicro", request_id AS "requestId"';
const USED_COLUMNS = 'coalesce(sum(requests), 0) AS requests, coalesce(sum(cost_micro), 0) AS "spentMicro"';

const OF_KEY: BookQueries = {
  account: `SELECT ${ACCOUNT_COLUMNS} FROM keys WHERE key_id = $1`,
  requests: `SELECT ${REQUEST_COLUMNS} FROM requests JOIN keys ON keys.seq = requests.key
    WHERE key_id = $1 AND status <> 'processing'`,
  entries: `SELECT ${ENTRY_COLUMNS} FROM ledger JOIN keys ON keys.seq = ledger.key
    WHERE key_id = $1 ORDER BY ledger.seq`,
  used: `SELECT ${USED_COLUMNS} FROM usage WHERE caller = $1`,
};

/** Its entries stand in the ledger under its number below zero. */
const OF_GROUP: BookQueries = {
  account: `SELECT ${ACCOUNT_COLUMNS} FROM groups WHERE group_id = $1`,
  requests: `SELECT ${REQUEST_COLUMNS} FROM requests WHERE group_id = $1 AND status <> 'processing'`,
  entries: `SELECT ${ENTRY_COLUMNS} FROM ledger JOIN groups ON -groups.seq = ledger.key
    WHERE group_id = $1 ORDER BY ledger.seq`,
  used: `SELECT ${USED_COLUMNS} FROM group_usage WHERE group_id = $1`,
};
/**
 * Fails unless the books of this prepaid key add up while none of its requests runs: balance, ledger, records, spent counters
 * and usage tell the same story, and each request was held once, released once and charged once. The file is read behind the
 * back of every gateway, which may have been killed a moment ago. Nothing may have been pruned yet.
 */
export function expectBooksToAddUp(file: string, keyId: KeyId): UnitOfWork {
  const database = new Sqlite(file, { readonly: true });
  const all = <Row>(sql: string) => database.prepare<[string], Row>(sql.replace('$1', '?')).all(keyId);
  try {
    return database.transaction(() =>
      checkBooks({
        accounts: all(OF_KEY.account),
        requests: all(OF_KEY.requests),
        entries: all(OF_KEY.entries),
        used: all(OF_KEY.used),
        mayTakeBack: false,
      }),
    )();
  } finally {
    database.close();
  }
}

/**
 * As `expectBooksToAddUp`, of a key or a group in a database on PostgreSQL. With `mayTakeBack` a request may have held and released without a
 * record: one that was refused while nobody knew whether it had been accepted, and is taken back. What it was charged, by
 * another gateway that took its own for dead, is returned.
 */
export async function expectServerBooksToAddUp(url: string, id: AccountId, mayTakeBack = false): Promise<UnitOfWork> {
  const of = isGroupId(id) ? OF_GROUP : OF_KEY;
  // All that this reads is text, or a whole number that JavaScript knows exactly.
  const types = { getTypeParser: (oid: number) => (oid === TEXT ? String : Number) };
  const client = new Client({ connectionString: url, types });
  await client.connect();
  const all = async <Row extends QueryResultRow>(sql: string) => (await client.query<Row>(sql, [id])).rows;
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    return checkBooks({
      accounts: await all<AccountRow>(of.account),
      requests: await all<RequestRow>(of.requests),
      entries: await all<EntryRow>(of.entries),
      used: await all<UsedRow>(of.used),
      mayTakeBack,
    });
  } finally {
    await client.end();
  }
}

/** The type of PostgreSQL that every text of ours has. */
const TEXT = 25;

function checkBooks(rows: BookRows): UnitOfWork {
  const {
    accounts: [account],
    requests,
    entries,
    used: [used],
  } = rows;
  if (account === undefined) throw new Error('the account is not in the books');
  const spentOn = requests
    .filter(({ completedAtMs }) => Math.floor(completedAtMs / DAY_MS) === account.day)
    .reduce((sum, { costMicro }) => sum + costMicro, 0);

  const { payable, ...walked } = walk(entries);
  expectEachSettledOnce(rows, payable);
  const costMicro = requests.reduce((sum, { costMicro }) => sum + costMicro, 0);
  expect(account.heldMicro, 'what is held when nothing runs').to.equal(0);
  expect(account.balanceMicro, 'the balance, beside the sum of the ledger').to.equal(walked.balanceMicro);
  expect(account.spentMicro, 'spent on the last day').to.equal(spentOn);
  expect(used, 'the usage, beside the records').to.deep.equal({ requests: requests.length, spentMicro: costMicro });
  return { ...walked, requests: requests.length };
}

const DAY_MS = 86_400_000;

/**
 * A reservation is taken only from what is there, and no end leaves more owed than was owed before or than its own reservation.
 * `payable` is what each request could be charged at most when it ended.
 */
function walk(entries: readonly EntryRow[]) {
  let [balanceMicro, lowestMicro, spentMicro] = [0, 0, 0];
  const payable = new Map<string | null, number>();
  for (const { kind, amountMicro, requestId } of entries) {
    if (kind === 'release') payable.set(requestId, Math.max(amountMicro, balanceMicro + 2 * amountMicro));
    balanceMicro += amountMicro;
    lowestMicro = Math.min(lowestMicro, balanceMicro);
    if (kind === 'settle') spentMicro -= amountMicro;
    if (kind === 'reserve') expect(balanceMicro, `the balance after ${requestId} was let in`).to.be.at.least(0);
  }
  return { balanceMicro, lowestMicro, spentMicro, payable };
}

function expectEachSettledOnce(
  { requests, entries, mayTakeBack }: BookRows,
  payable: ReadonlyMap<string | null, number>,
) {
  const made = Map.groupBy(
    entries.filter(({ requestId }) => requestId !== null),
    ({ requestId }) => requestId,
  );
  for (const { requestId, heldMicro, costMicro } of requests) {
    const chargedMicro = Math.min(costMicro, payable.get(requestId) ?? costMicro);
    const expected = [
      `reserve ${-heldMicro}`,
      `release ${heldMicro}`,
      ...(chargedMicro === 0 ? [] : [`settle ${-chargedMicro}`]),
    ];
    const found = made.get(requestId)?.map(toText);
    expect(found, `the entries of ${requestId}`).to.deep.equal(expected);
  }
  const known = new Set<string | null>(requests.map(({ requestId }) => requestId));
  const takenBack = [...made].filter(([requestId]) => !known.has(requestId));
  if (!mayTakeBack) expect(takenBack, 'requests with entries and without a record').to.deep.equal([]);
  for (const [requestId, [first, ...rest]] of takenBack) {
    const amountMicro = first?.amountMicro ?? 0;
    expect(first?.kind, `the first entry of ${requestId}, which was taken back`).to.equal('reserve');
    const [released, charged, ...more] = rest;
    expect(released?.amountMicro, `what is released of ${requestId}`).to.equal(-amountMicro);
    const returned = charged === undefined ? [] : [`settle ${-charged.amountMicro}`];
    expect(more.map(toText), `what follows for ${requestId}`).to.deep.equal(returned);
  }
}

function toText({ kind, amountMicro }: EntryRow): string {
  return `${kind} ${amountMicro}`;
}
