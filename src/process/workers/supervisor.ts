import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createBackOff } from '../../core/back-off.ts';
import { messageOf } from '../../core/errors.ts';
import type { Addresses } from '../../config/banner.ts';
import { watchForStuck } from './watchdog.ts';
import type { WorkerProcess } from './worker-process.ts';

export interface SupervisorOptions {
  readonly count: number;
  readonly launch: (number: number) => LaunchedWorker;
  readonly log: Logger;
}

export interface LaunchedWorker extends WorkerProcess {
  readonly ready: Promise<Addresses>;
}

export interface Supervisor {
  /**
   * Resolves when all workers listen. Throws when one cannot, or has died several times before it
   * could; then none is started again.
   */
  start(): Promise<Addresses>;
  readonly serving: readonly WorkerProcess[];
  /** Also those that do not listen yet. */
  readonly living: readonly WorkerProcess[];
  stop(how: 'drain' | 'close', withinMs: number): Promise<void>;
}

const RESTART = { firstMs: 100, atMostMs: 10_000 };
/** A worker that has lived for this long did not die of its start. */
const STEADY_MS = 10_000;
/** One that dies each time ends the start of the gateway, which takes 1.5 s of waits. */
const FIRST_STARTS = 5;

/** A worker whose process ended before it listened. Another try may succeed. */
export class DiedAtStart extends Error {}

interface Started {
  readonly resolve: (addresses: Addresses) => void;
  readonly reject: (error: unknown) => void;
}

/** Returns a supervisor that restarts each worker that dies. It has started none yet. */
export function createSupervisor({ count, launch, log }: SupervisorOptions): Supervisor {
  const living = new Map<number, LaunchedWorker>();
  const serving = new Set<WorkerProcess>();
  const stopping = new AbortController();

  async function keepAlive(number: number, first: PromiseWithResolvers<Addresses>): Promise<void> {
    const waitAfter = createBackOff(RESTART);
    let startsLeft = FIRST_STARTS;
    const onStart: Started = {
      resolve(addresses) {
        startsLeft = Infinity;
        first.resolve(addresses);
      },
      reject(error) {
        startsLeft -= 1;
        const isTriedAgain = error instanceof DiedAtStart ? startsLeft > 0 : startsLeft === Infinity;
        if (isTriedAgain) log.error({ worker: number, reason: messageOf(error) }, 'a worker could not be started');
        else first.reject(error);
      },
    };
    while (!stopping.signal.aborted) {
      const startedAtMs = performance.now();
      const how = await run(number, onStart).catch((error: unknown) => {
        // The system has no memory or no process left for it, and may have one later.
        onStart.reject(new DiedAtStart(messageOf(error), { cause: error }));
        return 'not started';
      });
      if (stopping.signal.aborted) return;
      const restartInMs = waitAfter(performance.now() - startedAtMs >= STEADY_MS);
      log.error({ worker: number, how, restartInMs }, 'a worker ended, and is started again');
      await delay(restartInMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  async function run(number: number, started: Started): Promise<string> {
    const worker = launch(number);
    const { pid: workerPid } = worker;
    living.set(number, worker);
    let stopWatching: (() => void) | undefined;
    try {
      const address = await worker.ready;
      serving.add(worker);
      log.info({ worker: number, workerPid }, 'a worker listens');
      started.resolve(address);
      stopWatching = watchForStuck(
        () => worker.rpc.ask('ping'),
        () => {
          log.error({ worker: number, workerPid }, 'a worker does not answer, and is killed');
          worker.kill();
        },
      );
    } catch (error) {
      worker.kill();
      if (!stopping.signal.aborted) started.reject(error);
    }
    const how = await worker.ended;
    stopWatching?.();
    living.delete(number);
    serving.delete(worker);
    return how;
  }

  return {
    async start() {
      const numbers = Array.from({ length: count }, (_, index) => index + 1);
      const firsts = numbers.map((number) => {
        const first = Promise.withResolvers<Addresses>();
        void keepAlive(number, first);
        return first.promise;
      });
      const started = await Promise.all(firsts).catch(async (error: unknown) => {
        stopping.abort();
        // A worker that outlives this process for a moment would write of the broken connection.
        const left = [...living.values()];
        for (const worker of left) worker.kill();
        await Promise.all(left.map(({ ended }) => ended));
        throw error;
      });
      const [addresses] = started;
      if (addresses === undefined) throw new Error('there is no worker');
      return addresses;
    },
    get serving() {
      return [...serving];
    },
    get living() {
      return [...living.values()];
    },
    async stop(how, withinMs) {
      stopping.abort();
      const left = new Map(living);
      const gone = Promise.all([...left.values()].map(({ ended }) => ended));
      // A worker answers by its end.
      for (const { rpc } of left.values()) rpc.ask(how).catch(() => undefined);
      const late = new AbortController();
      await Promise.race([gone, delay(withinMs, undefined, { signal: late.signal }).catch(() => undefined)]);
      late.abort();
      for (const [number, worker] of living) {
        log.warn({ worker: number, workerPid: worker.pid }, 'a worker did not end in time, and is killed');
        worker.kill();
      }
      await gone;
    },
  };
}
