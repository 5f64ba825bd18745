import type { Database } from 'better-sqlite3';
import { prepareAccepted } from './accepted.ts';
import { prepareAlerts } from './alerts.ts';
import { prepareCharges } from '../shared/charges.ts';
import type { Operation, Operations } from '../shared/operations.ts';
import { standingOf } from '../../core/money/rates.ts';
import { prepareUnitOfWork, type SqliteUnitOfWork } from './unit-of-work.ts';
import { prepareGroups } from './groups.ts';
import { prepareKeys } from './keys.ts';
import { prepareLedger } from './ledger.ts';
import { prepareLifecycle } from './lifecycle.ts';
import { prepareLists } from './lists.ts';
import { prepareOperator } from './operator.ts';
import { prepareRecovery } from './recovery.ts';
import { prepareRequestStats } from './request-stats.ts';
import { prepareRetention } from './retention.ts';
import { prepareFindMark } from './secret-mark.ts';
import type { Owners } from './owner-lock.ts';
import { prepareUsage } from './usage.ts';
import { prepareUsageRollups } from './usage-rollups.ts';

export interface SqliteOperations extends Operations {
  pragma(source: string): unknown;
  /** Runs the following operations of the batch for another process. */
  asOwner(owner: string): null;
}

/** All other operations read the tables, so the unit of work is written before them. */
const IN_UNIT: ReadonlySet<keyof SqliteOperations> = new Set([
  'accept',
  'acceptPaid',
  'finish',
  'record',
  'undoRecord',
  'discard',
  'undoAccept',
  'takeRate',
  'find',
  'findDuplicate',
  'asOwner',
]);

export interface Runner {
  readonly run: (operation: Operation) => unknown;
  readonly unit: SqliteUnitOfWork;
}

export function prepareRunner(database: Database, who: { readonly own: string; readonly owners: Owners }): Runner {
  const unit = prepareUnitOfWork(database);
  const operations = prepareOperations(database, who, unit);

  function apply([name, ...parameters]: Operation): unknown {
    // Each operation was typed where it was called.
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
    findRate(accountId, nowMs) {
      const account = unit.funding.find(accountId);
      return account === undefined ? null : standingOf(account, nowMs);
    },
    takeRate: charges.takeRate,
    ...prepareLifecycle(database, lifecycle),
    ...prepareLists(database),
    ...prepareOperator(database),
    ...prepareKeys(database, unit.funding),
    ...prepareGroups(database, unit.funding),
    ...prepareLedger(database, unit),
    ...prepareUsage(database),
    ...prepareUsageRollups(database),
    ...prepareRequestStats(database),
    ...prepareAccepted(database),
    ...prepareAlerts(database),
    ...prepareRecovery(database, who, lifecycle),
    ...prepareRetention(database),
    ...prepareChecks(database),
    asOwner(owner) {
      acting = owner;
      return null;
    },
  };
}

/** A page for the table and each index of the records. */
const PROBE_BYTES = 12 * 4096;

function prepareChecks(database: Database) {
  const insertProbe = database.prepare(`INSERT INTO write_probes (filler) VALUES (zeroblob(${PROBE_BYTES}))`);
  const deleteProbes = database.prepare('DELETE FROM write_probes');
  const findMark = prepareFindMark(database);

  /** The probe needs new pages, as `accept` may, so that a full disk is noticed. */
  function probeWrite(): string | null {
    insertProbe.run();
    deleteProbes.run();
    return findMark() ?? null;
  }

  function pragma(source: string): unknown {
    return database.pragma(source, { simple: true });
  }

  return { probeWrite, pragma };
}
