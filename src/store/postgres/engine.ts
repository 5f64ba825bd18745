import { DatabaseError } from 'pg';
import type { Mode, Operation, OperationName, Operations, RemoteEngine, Reply } from '../queue/operations.ts';
import { isChange, type Change, type ChangeName } from '../book/changes.ts';
import type { Calendar } from '../calendar.ts';
import { POSTGRES } from '../sql/dialect.ts';
import { commonOperations } from '../sql/operations.ts';
import type { AnyOperations, SteppedOperations, Steps } from '../sql/steps.ts';
import { CARRY } from './carry.ts';
import { isPlainAcceptance, writeChanges } from './changes.ts';
import { PassingError, toFailure } from './failures.ts';
import { RATES } from './rates.ts';
import { ownOperations, recoverSome, type Owner } from './owners.ts';
import type { Committable, Connection, Connections } from './pool.ts';
import { RETENTION } from './retention.ts';
import { runSteps, runToEnd } from './steps.ts';

/** Each has a transaction of its own. */
export const ALONE: ReadonlySet<Operation[0]> = new Set([
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
] satisfies OperationName[]);

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

const STEPPED = { ...commonOperations(POSTGRES), ...CARRY, ...RATES, ...RETENTION };

/** Creates the engine. Changes of records are written together; lookups run concurrently. */
export function createEngine(
  { connections, forLists }: EngineConnections,
  owner: Owner,
  clock: () => number,
  calendar: Calendar,
): RemoteEngine {
  const stepped: SteppedOperations<Exclude<OperationName, ChangeName | 'recoverSome'>> = {
    ...STEPPED,
    ...ownOperations(owner),
  };
  const operations: AnyOperations = stepped;
  const recover: Unchecked['run'] = (connection, ...parameters: Parameters<Operations['recoverSome']>) =>
    recoverSome(connection, { owner, calendar }, parameters);

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
    return [await connections.transaction((connection) => runOne(connection, first))];
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
        return pool.lookUp((connection) => runToEnd(connection, begin(operation)));
      }),
    );
  }

  function runOne(connection: Connection, operation: Operation): Promise<Committable<unknown>> {
    const [name, ...parameters] = operation;
    return name === 'recoverSome' ? recover(connection, ...parameters) : runSteps(connection, begin(operation));
  }

  function begin([name, ...parameters]: Operation): Steps<unknown> {
    const operation = operations[name];
    if (operation === undefined) throw new Error(`there is no operation ${name}`);
    return operation(...parameters);
  }

  return {
    run,
    async close() {
      await owner.release().catch(() => undefined);
      await Promise.all([connections.close(), forLists.close()]);
    },
  };
}

/** As `AnyOperations` has it. */
interface Unchecked {
  run(connection: Connection, ...parameters: unknown[]): Promise<Committable<unknown>>;
}

function isUnknownOwner(error: unknown): boolean {
  return error instanceof DatabaseError && error.constraint === 'requests_owner_fkey';
}
