import { DatabaseError } from 'pg';
import type { Mode, Operation, OperationName, RemoteEngine, Reply } from '../queue/operations.ts';
import { ACCEPTED_CHANGES, ACCEPTED_LOOKUPS } from './accepted.ts';
import { ALERT_CHANGES, ALERT_LOOKUPS } from './alerts.ts';
import { isChange, type Change, type ChangeName } from '../book/changes.ts';
import type { Calendar } from '../calendar.ts';
import { isPlainAcceptance, writeChanges } from './changes.ts';
import { PassingError, toFailure } from './failures.ts';
import { GROUP_CHANGES, GROUP_LOOKUPS } from './groups.ts';
import { KEY_CHANGES, KEY_LOOKUPS } from './keys.ts';
import { LEDGER_CHANGES, LEDGER_LOOKUPS } from './ledger.ts';
import { LOOKUPS } from './lookups.ts';
import { prepareOwn, prepareConfirmations, preparePrices, prepareRecovery, type Owner } from './owners.ts';
import type { Committable, Connection, Connections } from './pool.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import { STATS_CHANGES, STATS_LOOKUPS } from './request-stats.ts';
import { RETENTION } from './retention.ts';
import { USAGE_LOOKUPS } from './usage.ts';
import { ROLLUP_CHANGES, ROLLUP_LOOKUPS } from './usage-rollups.ts';

const ALONE_NAMES = [
  'createKeys',
  'rehashKey',
  'updateKey',
  'rotateKey',
  'deleteKeys',
  'createGroup',
  'updateGroup',
  'deleteGroup',
  'credit',
  'carrySome',
  'pruneSome',
  'pruneUsageSome',
  'reclaimSome',
  'probeWrite',
  'recoverSome',
  'comparePrices',
  'rememberAccepted',
  'claimAlert',
  'noteCurrency',
  'rollUp',
  'addStats',
  'doubt',
  'confirm',
] as const satisfies readonly OperationName[];
type AloneName = (typeof ALONE_NAMES)[number];

export const ALONE: ReadonlySet<Operation[0]> = new Set(ALONE_NAMES);

const LISTS: ReadonlySet<Operation[0]> = new Set([
  'list',
  'findCallers',
  'sumUsage',
  'sumGroupUsage',
  'sumTotals',
  'listStats',
  'listSpending',
] satisfies OperationName[]);

export interface EngineConnections {
  readonly connections: Connections;
  readonly forLists: Connections;
}

function prepareOperations(owner: Owner, calendar: Calendar) {
  return {
    looking: {
      ...LOOKUPS,
      ...KEY_LOOKUPS,
      ...GROUP_LOOKUPS,
      ...LEDGER_LOOKUPS,
      ...USAGE_LOOKUPS,
      ...ROLLUP_LOOKUPS,
      ...STATS_LOOKUPS,
      ...ACCEPTED_LOOKUPS,
      ...ALERT_LOOKUPS,
      ...prepareOwn(owner),
    } satisfies Remote<Exclude<OperationName, AloneName | ChangeName>>,
    changing: {
      ...KEY_CHANGES,
      ...GROUP_CHANGES,
      ...LEDGER_CHANGES,
      ...RETENTION,
      ...ROLLUP_CHANGES,
      ...STATS_CHANGES,
      ...ACCEPTED_CHANGES,
      ...ALERT_CHANGES,
      ...prepareRecovery(owner, calendar),
      ...preparePrices(owner),
      ...prepareConfirmations(owner),
    } satisfies RemoteChanges<AloneName>,
  };
}

/** Creates the engine. Changes of records are written together; lookups run concurrently. */
export function createEngine(
  { connections, forLists }: EngineConnections,
  owner: Owner,
  clock: () => number,
  calendar: Calendar,
): RemoteEngine {
  const { looking, changing } = prepareOperations(owner, calendar);

  async function run(mode: Mode, batch: readonly Operation[]): Promise<Reply> {
    try {
      return { results: await (mode === 'read' ? lookUpAll(batch) : change(batch)) };
    } catch (error) {
      const failure = toFailure(error);
      if (failure !== undefined) return { failure };
      const mistake = error instanceof Error ? error : new Error('unknown', { cause: error });
      // The operation is at fault, so the other operations of the batch run again without it.
      return batch.length === 1 ? { results: [mistake] } : await runEach(mode, batch);
    }
  }

  async function runEach(mode: Mode, batch: readonly Operation[]): Promise<Reply> {
    const results: unknown[] = [];
    for (const operation of batch) {
      const reply = await run(mode, [operation]);
      // The operations before it are committed, so the outcome of the batch as a whole is unknown.
      if ('failure' in reply) return { failure: { ...reply.failure, reason: 'lost' } };
      results.push(...reply.results);
    }
    return { results };
  }

  async function change(batch: readonly Operation[]): Promise<readonly unknown[]> {
    if (batch.every(isChange)) return writeAs(owner.name, batch);
    const [first, ...others] = batch;
    if (first === undefined || others.length > 0)
      throw new TypeError('what has a transaction of its own came with others');
    return [await connections.transaction((connection) => runOne<Committable<unknown>>(changing, connection, first))];
  }

  async function writeAs(name: string, changes: readonly Change[]): Promise<readonly unknown[]> {
    const by = { owner: name, nowMs: clock(), calendar };
    try {
      if (!isPlainAcceptance(changes)) {
        return await connections.transaction((connection) => writeChanges(connection, by, changes));
      }
      return await connections.write(async (connection) => (await writeChanges(connection, by, changes)).result);
    } catch (error) {
      if (!isUnknownOwner(error)) throw error;
      await owner.renew(name);
      throw new PassingError('this process was taken for dead, and goes on under another name', { cause: error });
    }
  }

  function lookUpAll(batch: readonly Operation[]): Promise<readonly unknown[]> {
    return Promise.all(
      batch.map((operation) => {
        const pool = LISTS.has(operation[0]) ? forLists : connections;
        return pool.lookUp((connection) => runOne<unknown>(looking, connection, operation));
      }),
    );
  }

  return {
    run,
    async close() {
      await owner.release().catch(() => undefined);
      await Promise.all([connections.close(), forLists.close()]);
    },
  };
}

/** A method accepts parameters of any type; they were checked where the operation was called. */
interface Runnable<Result> {
  run(connection: Connection, ...parameters: unknown[]): Promise<Result>;
}

function runOne<Result>(
  operations: Readonly<Record<string, Runnable<Result>['run']>>,
  connection: Connection,
  [name, ...parameters]: Operation,
): Promise<Result> {
  const run = operations[name];
  if (run === undefined) throw new Error(`there is no operation ${name}`);
  return run(connection, ...parameters);
}

function isUnknownOwner(error: unknown): boolean {
  return error instanceof DatabaseError && error.constraint === 'requests_owner_fkey';
}
