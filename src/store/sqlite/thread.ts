import { once } from 'node:events';
import { extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { unreachable } from '../../core/errors.ts';
import type { Failure } from '../shared/failures.ts';
import type { RemoteEngine, Reply } from '../shared/operations.ts';
import { StoreOpenError } from '../store.ts';
import { openEngine, type EngineOptions } from './engine.ts';
import type { FromWorker, ToWorker } from './worker.ts';

export type StartWorker = (file: URL, options: WorkerOptions) => Worker;

const RESTART_AFTER_MS = 50;
const RESTART_AFTER_AT_MOST_MS = 5000;
const CLOSE_WITHIN_MS = 5000;

/** An engine for a database in memory: it waits for no disk, so it needs no thread. */
export function startInline(options: EngineOptions): RemoteEngine {
  const engine = openEngine(options);
  return {
    run: async (mode, batch) => engine.run(mode, batch),
    close: async () => engine.close(),
  };
}

export interface ThreadOptions {
  readonly engine: EngineOptions;
  /** Called when the thread has died without being asked to. */
  readonly onDeath: (message: string) => void;
  /** Tests keep a hand on the thread by this. */
  readonly startWorker?: StartWorker;
}

/**
 * Starts the engine in a thread, and again whenever it dies. Rejects with StoreOpenError when the database cannot be opened
 * now; once it was open, that is a failure like any other.
 */
export async function startThread({
  engine,
  onDeath,
  startWorker = (file, options) => new Worker(file, options),
}: ThreadOptions): Promise<RemoteEngine> {
  let worker: Worker | undefined;
  let closing = false;
  let whyDown: Failure = STARTING;
  let restartAfterMs = RESTART_AFTER_MS;
  let lastId = 0;
  const inFlight = new Map<number, (reply: Reply) => void>();

  await launch();

  /** Resolves when the thread has the database open. */
  function launch(): Promise<void> {
    // The sources run as they are, a build has the same tree in JavaScript; flags of the main thread are not for this one.
    const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
    const launched = startWorker(file, { execArgv: [] });
    const message: ToWorker = ['open', engine];
    launched.postMessage(message);
    return new Promise((resolve, reject) => {
      let lastWords = 'the thread of the store ended';
      launched.on('message', (message: FromWorker) => {
        switch (message[0]) {
          case 'open':
            worker = launched;
            return resolve();
          case 'refused':
            lastWords = message[1];
            return undefined;
          case 'reply':
            return settle(message[1], message[2]);
          default:
            return unreachable(message);
        }
      });
      launched.on('error', (error) => {
        lastWords = error instanceof Error ? error.message : lastWords;
      });
      launched.on('exit', () => {
        reject(new StoreOpenError(lastWords));
        if (worker === launched) bury(lastWords);
      });
    });
  }

  function settle(id: number, reply: Reply): void {
    restartAfterMs = RESTART_AFTER_MS;
    inFlight.get(id)?.(reply);
    inFlight.delete(id);
  }

  function bury(lastWords: string): void {
    worker = undefined;
    whyDown = STARTING;
    for (const resolve of inFlight.values()) resolve({ failure: { reason: 'lost', message: lastWords } });
    inFlight.clear();
    if (closing) return;
    onDeath(lastWords);
    reviveLater();
  }

  function reviveLater(): void {
    const timer = setTimeout(() => {
      if (closing) return;
      launch().catch((error: unknown) => {
        whyDown = { reason: 'io_error', message: error instanceof Error ? error.message : STARTING.message };
        reviveLater();
      });
    }, restartAfterMs);
    timer.unref();
    restartAfterMs = Math.min(restartAfterMs * 2, RESTART_AFTER_AT_MOST_MS);
  }

  return {
    run(mode, batch) {
      if (worker === undefined) return Promise.resolve({ failure: whyDown });
      lastId += 1;
      const id = lastId;
      const message: ToWorker = ['run', id, mode, batch];
      worker.postMessage(message);
      return new Promise((resolve) => inFlight.set(id, resolve));
    },
    async close() {
      closing = true;
      if (worker === undefined) return;
      const ended = once(worker, 'exit');
      const message: ToWorker = ['close'];
      worker.postMessage(message);
      await Promise.race([ended, delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
      // Held up by the disk, perhaps for good: the process must be able to end.
      worker?.unref();
    },
  };
}

const STARTING: Failure = { reason: 'starting', message: 'the thread of the store is being started again' };
