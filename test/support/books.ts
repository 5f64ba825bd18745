import Sqlite, { type Database } from 'better-sqlite3';
import { expect } from 'chai';
import type { KeyId } from '../../src/core/ids.ts';

/** What the books of one key say, now that they have been found to add up. */
export interface Books {
  readonly balanceMicro: number;
  /** Where the balance stood when it was lowest. */
  readonly lowestMicro: number;
  readonly spentMicro: number;
  /** How many of its requests were let in. */
  readonly requests: number;
}

interface RequestRow {
  readonly requestId: string;
  readonly heldMicro: number;
  readonly costMicro: number;
}

interface EntryRow {
  readonly kind: string;
  readonly amountMicro: number;
  readonly requestId: string | null;
}

/**
 * Fails unless the books of this prepaid key add up while none of its requests runs: balance, ledger, records, spent counters
 * and usage tell the same story, and each request was held once, released once and charged once. The file is read behind the
 * back of every gateway, which may have been killed a moment ago. Nothing may have been pruned yet.
 */
export function expectBooksToAddUp(file: string, keyId: KeyId): Books {
  const database = new Sqlite(file, { readonly: true });
  try {
    return database.transaction(() => checkBooks(database, keyId))();
  } finally {
    database.close();
  }
}

function checkBooks(database: Database, keyId: KeyId): Books {
  const key = database
    .prepare<[string], { seq: number; balanceMicro: number; heldMicro: number; day: number; spentMicro: number }>(`
    SELECT seq, balance_micro AS balanceMicro, held_micro AS heldMicro, day, day_spent_micro AS spentMicro
    FROM keys WHERE key_id = ?`)
    .get(keyId);
  if (key === undefined) throw new Error('the key is not in the books');
  const requests = database
    .prepare<[number], RequestRow>(`
    SELECT request_id AS requestId, held_micro AS heldMicro, coalesce(cost_micro, 0) AS costMicro
    FROM requests WHERE key = ? AND status != 'processing'`)
    .all(key.seq);
  const entries = database
    .prepare<[number], EntryRow>(`
    SELECT kind, amount_micro AS amountMicro, request_id AS requestId FROM ledger WHERE key = ? ORDER BY seq`)
    .all(key.seq);
  const spentOn = database
    .prepare<[number, number], number>(
      'SELECT coalesce(sum(cost_micro), 0) FROM requests WHERE key = ? AND completed_at_ms / 86400000 = ?',
    )
    .pluck();
  const used = database
    .prepare<[string], { requests: number; spentMicro: number }>(
      'SELECT coalesce(sum(requests), 0) AS requests, coalesce(sum(cost_micro), 0) AS spentMicro FROM usage WHERE caller = ?',
    )
    .get(keyId);

  expectEachSettledOnce(requests, entries);
  const { balanceMicro, lowestMicro } = walk(entries);
  const spentMicro = requests.reduce((sum, { costMicro }) => sum + costMicro, 0);
  expect(key.heldMicro, 'what is held when nothing runs').to.equal(0);
  expect(key.balanceMicro, 'the balance, beside the sum of the ledger').to.equal(balanceMicro);
  expect(key.spentMicro, 'spent on the last day').to.equal(spentOn.get(key.seq, key.day));
  expect(used, 'the usage, beside the records').to.deep.equal({ requests: requests.length, spentMicro });
  return { balanceMicro, lowestMicro, spentMicro, requests: requests.length };
}

/** A reservation is taken only from what is there; nothing but what a request costs beyond its own leads below zero. */
function walk(entries: readonly EntryRow[]): Pick<Books, 'balanceMicro' | 'lowestMicro'> {
  let [balanceMicro, lowestMicro] = [0, 0];
  for (const { kind, amountMicro, requestId } of entries) {
    balanceMicro += amountMicro;
    lowestMicro = Math.min(lowestMicro, balanceMicro);
    if (kind === 'reserve') expect(balanceMicro, `the balance after ${requestId} was let in`).to.be.at.least(0);
  }
  return { balanceMicro, lowestMicro };
}

function expectEachSettledOnce(requests: readonly RequestRow[], entries: readonly EntryRow[]): void {
  const made = Map.groupBy(
    entries.filter(({ requestId }) => requestId !== null),
    ({ requestId }) => requestId,
  );
  for (const { requestId, heldMicro, costMicro } of requests) {
    const expected = [
      `reserve ${-heldMicro}`,
      `release ${heldMicro}`,
      ...(costMicro === 0 ? [] : [`settle ${-costMicro}`]),
    ];
    const found = made.get(requestId)?.map(({ kind, amountMicro }) => `${kind} ${amountMicro}`);
    expect(found, `the entries of ${requestId}`).to.deep.equal(expected);
  }
  expect(made.size, 'requests with entries, beside those that have ended').to.equal(requests.length);
}
