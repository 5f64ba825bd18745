import type { Database } from 'better-sqlite3';
import { prepareCharges } from '../shared/charges.ts';
import type { Operation, Operations } from '../shared/operations.ts';
import { standingOf } from '../../core/money/rates.ts';
import { prepareBooks, type SqliteBooks } from './unit-of-work.ts';
import { prepareKeys } from './keys.ts';
import { prepareLedger } from './ledger.ts';
import { prepareLifecycle } from './lifecycle.ts';
import { prepareLists } from './lists.ts';
import { prepareOperator } from './operator.ts';
import { prepareRecovery } from './recovery.ts';
import { prepareRetention } from './retention.ts';
import { prepareFindMark } from './secret-mark.ts';
import type { Owners } from './owner-lock.ts';
import { prepareUsage } from './usage.ts';

/** What this engine can be asked for. */
export interface SqliteOperations extends Operations {
  pragma(source: string): unknown;
  /** Those that follow in the batch are run for this owner: for another process, which asks through this one. */
  asOwner(owner: string): null;
}

/** What the books are for; whatever else is asked for looks at their tables by itself. */
const ON_BOOKS: ReadonlySet<keyof SqliteOperations> = new Set([
  'accept',
  'acceptPaid',
  'finish',
  'discard',
  'takeRate',
  'correctRate',
  'find',
  'findDuplicate',
  'asOwner',
]);

/** Runs operations one after the other, inside the transaction of whoever calls. */
export interface Runner {
  readonly run: (operation: Operation) => unknown;
  readonly books: SqliteBooks;
}

/** Everything that can be asked of an open database, with its statements prepared. */
export function prepareRunner(database: Database, who: { readonly own: string; readonly owners: Owners }): Runner {
  const books = prepareBooks(database);
  const operations = prepareOperations(database, who, books);

  function apply([name, ...parameters]: Operation): unknown {
    // Each list was checked against its own operation where it was made; here they are all alike.
    return Reflect.apply(operations[name], undefined, parameters);
  }

  return {
    books,
    run(operation) {
      if (ON_BOOKS.has(operation[0])) return apply(operation);
      books.settle();
      const result = apply(operation);
      books.settle();
      return result;
    },
  };
}

function prepareOperations(
  database: Database,
  who: { readonly own: string; readonly owners: Owners },
  books: SqliteBooks,
): SqliteOperations {
  let acting = who.own;
  const charges = prepareCharges(books);
  const lifecycle = { owner: () => acting, charges };
  return {
    // All processes on one file have one primary, and its prices.
    comparePrices: () => [],
    findRate(keyId, nowMs) {
      const account = books.funding.find(keyId);
      return account === undefined ? null : standingOf(account, nowMs);
    },
    takeRate: charges.takeRate,
    correctRate: charges.correctRate,
    ...prepareLifecycle(database, lifecycle),
    ...prepareLists(database),
    ...prepareOperator(database),
    ...prepareKeys(database, books.funding),
    ...prepareLedger(database, books),
    ...prepareUsage(database),
    ...prepareRecovery(database, who, lifecycle),
    ...prepareRetention(database),
    ...prepareChecks(database),
    asOwner(owner) {
      acting = owner;
      return null;
    },
  };
}

function prepareChecks(database: Database) {
  const insertProbe = database.prepare('INSERT INTO write_probes (filler) VALUES (zeroblob(4096))');
  const deleteProbes = database.prepare('DELETE FROM write_probes');
  const findMark = prepareFindMark(database);

  /** Writes as an `accept` would: it needs a new page, so that a full disk is noticed, and leaves nothing behind. */
  function probeWrite(): string | null {
    insertProbe.run();
    deleteProbes.run();
    return findMark() ?? null;
  }

  /** For the operator's commands, and for tests that show or break the state of the connection. */
  function pragma(source: string): unknown {
    return database.pragma(source, { simple: true });
  }

  return { probeWrite, pragma };
}
