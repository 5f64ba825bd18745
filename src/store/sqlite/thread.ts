import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { createBackOff } from '../../core/back-off.ts';
import { messageOf } from '../../core/errors.ts';
import { openThreadRpc, type Rpc } from '../../rpc/rpc.ts';
import type { Failure } from '../queue/failures.ts';
import type { RemoteEngine } from '../queue/operations.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { openEngine, type EngineOptions } from './engine.ts';
import type { EngineService } from './worker.ts';

export type StartWorker = (file: URL, options: WorkerOptions) => Worker;

const RESTART = { firstMs: 50, atMostMs: 5000 };
const CLOSE_WITHIN_MS = 5000;

/** Returns an engine without a thread, because a database in memory waits for no disk. */
export function startInline(options: EngineOptions): RemoteEngine {
  const engine = openEngine(options);
  return {
    run: async (mode, batch) => engine.run(mode, batch),
    close: async () => engine.close(),
  };
}

export interface ThreadOptions {
  readonly engine: EngineOptions;
  readonly onDeath: (message: string) => void;
  readonly startWorker?: StartWorker;
}

interface Thread {
  readonly worker: Worker;
  readonly rpc: Rpc<EngineService>;
  hasAnswered: boolean;
}

/**
 * Starts the engine in a thread, and again whenever it dies. Throws StoreOpenError when the
 * database cannot be opened at first.
 */
export async function startThread({
  engine,
  onDeath,
  startWorker = (file, options) => new Worker(file, options),
}: ThreadOptions): Promise<RemoteEngine> {
  const waitAfter = createBackOff(RESTART);
  let thread: Thread | undefined;
  let closing = false;
  let whyDown: Failure = STARTING;

  await launch();

  async function launch(): Promise<void> {
    // A build has the same tree in JavaScript. This thread does not take the flags of the main one. It makes few objects at a time,
    // but with half this memory for new ones a record took 4 % more CPU.
    const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
    const worker = startWorker(file, { execArgv: [], resourceLimits: { maxYoungGenerationSizeMb: 6 } });
    const rpc = openThreadRpc<EngineService>(worker, { name: 'store', onExit: (lastWords) => bury(worker, lastWords) });
    try {
      await rpc.ask('open', engine);
    } catch (error) {
      await worker.terminate();
      throw new StoreOpenError(messageOf(error));
    }
    thread = { worker, rpc, hasAnswered: false };
  }

  function bury(worker: Worker, lastWords: string): void {
    if (thread?.worker !== worker) return;
    const { hasAnswered } = thread;
    thread = undefined;
    whyDown = STARTING;
    if (closing) return;
    onDeath(lastWords);
    reviveLater(hasAnswered);
  }

  function reviveLater(wasSteady: boolean): void {
    const timer = setTimeout(() => {
      if (closing) return;
      launch().catch((error: unknown) => {
        whyDown = { reason: 'io_error', message: messageOf(error) };
        reviveLater(false);
      });
    }, waitAfter(wasSteady));
    timer.unref();
  }

  return {
    run(mode, batch) {
      if (thread === undefined) return Promise.resolve({ failure: whyDown });
      const asked = thread;
      return asked.rpc.ask('run', mode, batch).then(
        (reply) => {
          asked.hasAnswered = true;
          return reply;
        },
        (error: unknown) => {
          // An engine that throws is in an unknown state: a new thread replaces it.
          void asked.worker.terminate();
          return { failure: { reason: 'lost', message: messageOf(error) } };
        },
      );
    },
    async close() {
      closing = true;
      if (thread === undefined) return;
      const { worker, rpc } = thread;
      const ended = once(worker, 'exit');
      // The thread answers by its end.
      rpc.ask('close').catch(() => undefined);
      await Promise.race([ended, delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
      // The disk may hold it up for good, and the process must be able to end.
      worker.unref();
    },
  };
}

const STARTING: Failure = { reason: 'starting', message: 'the thread of the store is being started again' };
