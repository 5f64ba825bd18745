import type { Database } from 'better-sqlite3';
import { mapValues } from '../../core/map-values.ts';
import { prepareCharges, type Charges } from '../book/charges.ts';
import { isChange, type Change, type ChangeName } from '../book/changes.ts';
import type { Operation, Operations } from '../queue/operations.ts';
import { standingOf } from '../../core/money/rates.ts';
import type { Calendar } from '../calendar.ts';
import { prepareUnitOfWork, type SqliteUnitOfWork } from './unit-of-work.ts';
import { prepareChanges, type Changes } from './changes.ts';
import { prepareDoubts } from './doubts.ts';
import { prepareRecovery } from './recovery.ts';
import { prepareReclaim, RETENTION } from './retention.ts';
import { SQLITE } from '../sql/dialect.ts';
import { commonOperations, type CommonName } from '../sql/operations.ts';
import { CARRY } from './carry.ts';
import type { AnyOperations } from '../sql/steps.ts';
import { prepareSteps } from './steps.ts';
import type { Owners } from './owner-lock.ts';

type OwnName = Exclude<keyof Operations, ChangeName | CommonName | 'carrySome' | 'probeWrite'>;

interface OwnOperations extends Pick<Operations, OwnName> {
  pragma(source: string): unknown;
  /** Runs the following operations of the batch for another process. */
  asOwner(owner: string): null;
}

const STEPPED: AnyOperations = { ...commonOperations(SQLITE), ...CARRY, ...RETENTION };

/** All other operations read the tables of accounts and usage, so the unit of work is written before them. */
const IN_UNIT: ReadonlySet<string> = new Set(['find', 'findAny', 'findDuplicate', 'asOwner']);

export interface Runner {
  readonly run: (batch: readonly Operation[]) => readonly unknown[];
  readonly unit: SqliteUnitOfWork;
}

export function prepareRunner(
  database: Database,
  who: { readonly own: string; readonly owners: Owners; readonly calendar: Calendar },
): Runner {
  const unit = prepareUnitOfWork(database);
  let acting = who.own;
  const charges = prepareCharges(unit, who.calendar);
  const changes = prepareChanges(database, { owner: () => acting, unit, charges });
  const runSteps = prepareSteps(database, unit.funding);
  const own: OwnOperations = {
    ...prepareOwn(database, { ...who, acting: () => acting }, { unit, charges, changes }),
    asOwner(owner: string) {
      acting = owner;
      return null;
    },
  };
  const operations: Readonly<Record<string, unknown>> = {
    ...own,
    ...mapValues(
      STEPPED,
      (begin) =>
        (...parameters: unknown[]) =>
          runSteps(begin(...parameters)),
    ),
  };

  function apply([name, ...parameters]: Operation): unknown {
    const operation = operations[name];
    if (typeof operation !== 'function') throw new TypeError(`there is no operation ${name}`);
    // Each operation was typed where it was called.
    return Reflect.apply(operation, undefined, parameters);
  }

  function runOne(operation: Operation): unknown {
    if (IN_UNIT.has(operation[0])) return apply(operation);
    unit.flush();
    const result = apply(operation);
    unit.flush();
    return result;
  }

  return {
    unit,
    run(batch) {
      const results: unknown[] = [];
      // Changes that follow each other are decided together.
      let together: Change[] = [];
      const decide = (): void => {
        for (const result of changes.apply(together)) results.push(result);
        together = [];
      };
      for (const operation of batch) {
        if (isChange(operation)) together.push(operation);
        else {
          if (together.length > 0) decide();
          results.push(runOne(operation));
        }
      }
      if (together.length > 0) decide();
      return results;
    },
  };
}

function prepareOwn(
  database: Database,
  who: { readonly own: string; readonly owners: Owners; readonly acting: () => string },
  { unit, charges, changes }: { readonly unit: SqliteUnitOfWork; readonly charges: Charges; readonly changes: Changes },
): Omit<OwnOperations, 'asOwner'> {
  return {
    // All processes on one file have one primary, and its prices.
    comparePrices: () => [],
    findRate(accountId, nowMs) {
      const account = unit.funding.find(accountId);
      return account === undefined ? null : standingOf(account, nowMs);
    },
    ...prepareDoubts(database, who.acting),
    ...prepareRecovery(database, who, { charges, changes }),
    reclaimSome: prepareReclaim(database),
    pragma: (source) => database.pragma(source, { simple: true }),
  };
}
