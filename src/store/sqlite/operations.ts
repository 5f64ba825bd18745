import type { Database } from 'better-sqlite3';
import { prepareCharges } from '../shared/charges.ts';
import type { Operation, Operations } from '../shared/operations.ts';
import { standingOf } from '../../core/money/rates.ts';
import { prepareUnitOfWork, type SqliteUnitOfWork } from './unit-of-work.ts';
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
const IN_UNIT: ReadonlySet<keyof SqliteOperations> = new Set([
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
  readonly unit: SqliteUnitOfWork;
}

/** Everything that can be asked of an open database, with its statements prepared. */
export function prepareRunner(database: Database, who: { readonly own: string; readonly owners: Owners }): Runner {
  const unit = prepareUnitOfWork(database);
  const operations = prepareOperations(database, who, unit);

  function apply([name, ...parameters]: Operation): unknown {
    // Each list was checked against its own operation where it was made; here they are all alike.
    return Reflect.apply(operations[name], undefined, parameters);
  }

  return {
    unit,
    run(operation) {
      if (IN_UNIT.has(operation[0])) return apply(operation);
      unit.flush();
      const result = apply(operation);
      unit.flush();
      return result;
    },
  };
}

function prepareOperations(
  database: Database,
  who: { readonly own: string; readonly owners: Owners },
  unit: SqliteUnitOfWork,
): SqliteOperations {
  let acting = who.own;
  const charges = prepareCharges(unit);
  const lifecycle = { owner: () => acting, charges };
  return {
    // All processes on one file have one primary, and its prices.
    comparePrices: () => [],
    findRate(keyId, nowMs) {
      const account = unit.funding.find(keyId);
      return account === undefined ? null : standingOf(account, nowMs);
    },
    takeRate: charges.takeRate,
    correctRate: charges.correctRate,
    ...prepareLifecycle(database, lifecycle),
    ...prepareLists(database),
    ...prepareOperator(database),
    ...prepareKeys(database, unit.funding),
    ...prepareLedger(database, unit),
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
