import type { Database } from 'better-sqlite3';
import { prepareCharges } from '../engine/charges.ts';
import type { Operations } from '../engine/operations.ts';
import { standingOf } from '../rates.ts';
import { prepareFunds } from './funds.ts';
import { prepareKeys } from './keys.ts';
import { prepareLedger } from './ledger.ts';
import { prepareLifecycle } from './lifecycle.ts';
import { prepareLists } from './lists.ts';
import { prepareOperator } from './operator.ts';
import { prepareRecovery } from './recovery.ts';
import { prepareRetention } from './retention.ts';
import type { Owners } from './owner-lock.ts';
import { prepareNotes, prepareUsage } from './usage.ts';

/** What this engine can be asked for. */
export interface SqliteOperations extends Operations {
  pragma(source: string): unknown;
  /** Those that follow in the batch are run for this owner: for another process, which asks through this one. */
  actFor(owner: string): null;
}

/** Everything that can be asked of an open database, with its statements prepared. */
export function prepareOperations(
  database: Database,
  who: { readonly own: string; readonly owners: Owners },
): SqliteOperations {
  let acting = who.own;
  const funds = prepareFunds(database);
  const charges = prepareCharges(funds);
  const lifecycle = { owner: () => acting, charges, noteUsage: prepareNotes(database) };
  return {
    // All processes on one file have one primary, and its prices.
    comparePrices: () => [],
    findRate(keyId, nowMs) {
      const account = funds.find(keyId);
      return account === undefined ? null : standingOf(account, nowMs);
    },
    takeRate: charges.takeRate,
    correctRate: charges.correctRate,
    ...prepareLifecycle(database, lifecycle),
    ...prepareLists(database),
    ...prepareOperator(database),
    ...prepareKeys(database, funds),
    ...prepareLedger(database, funds),
    ...prepareUsage(database),
    ...prepareRecovery(database, who, lifecycle),
    ...prepareRetention(database),
    ...prepareChecks(database),
    actFor(owner) {
      acting = owner;
      return null;
    },
  };
}

function prepareChecks(database: Database) {
  const insertProbe = database.prepare('INSERT INTO write_probes (filler) VALUES (zeroblob(4096))');
  const deleteProbes = database.prepare('DELETE FROM write_probes');

  /** Writes as an `accept` would: it needs a new page, so that a full disk is noticed, and leaves nothing behind. */
  function probeWrite(): null {
    insertProbe.run();
    deleteProbes.run();
    return null;
  }

  /** For the operator's commands, and for tests that show or break the state of the connection. */
  function pragma(source: string): unknown {
    return database.pragma(source, { simple: true });
  }

  return { probeWrite, pragma };
}
