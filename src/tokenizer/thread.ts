import { extname } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { Vocabulary } from './vocabulary.ts';
import type { FromWorker, ToWorker } from './worker.ts';

export type StartWorker = (file: URL, options: WorkerOptions) => Worker;

export interface ThreadOptions {
  /** Called when the thread has died without being asked to. */
  readonly onDeath: (message: string) => void;
  /** Tests keep a hand on the thread by this. */
  readonly startWorker?: StartWorker;
  /** After so long without an answer the thread ends: it has nothing to do, or is stuck. */
  readonly restAfterMs?: number;
}

export interface TokenizerThread {
  /** The tokens of these texts together; undefined when the thread ends before it has answered. One call at a time. */
  count(vocabulary: Vocabulary, texts: readonly string[]): Promise<number | undefined>;
  close(): Promise<void>;
}

const REST_AFTER_MS = 60_000;

/** Starts no thread before there is something to count, and another one for what comes after its end. */
export function createThread(options: ThreadOptions): TokenizerThread {
  const { startWorker = (file, workerOptions) => new Worker(file, workerOptions), restAfterMs = REST_AFTER_MS } =
    options;
  let worker: Worker | undefined;
  let answer: ((tokens: number | undefined) => void) | undefined;
  let rest: NodeJS.Timeout | undefined;

  function launch(): Worker {
    // The sources run as they are, a build has the same tree in JavaScript; flags of the main thread are not for this one.
    const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
    const launched = startWorker(file, { execArgv: [] });
    // It holds up no end of the process.
    launched.unref();
    let lastWords = 'the thread of the tokenizer ended';
    launched.on('message', (tokens: FromWorker) => {
      // What one that was given up has still said is no answer to the next.
      if (worker !== launched) return;
      rest?.refresh();
      answer?.(tokens);
    });
    launched.on('error', (error) => {
      lastWords = error instanceof Error ? error.message : lastWords;
    });
    launched.on('exit', () => {
      if (worker !== launched) return;
      options.onDeath(lastWords);
      void end();
    });
    rest = setTimeout(() => void end(), restAfterMs).unref();
    return launched;
  }

  async function end(): Promise<void> {
    const ended = worker;
    worker = undefined;
    clearTimeout(rest);
    answer?.(undefined);
    await ended?.terminate();
  }

  return {
    count(vocabulary, texts) {
      worker ??= launch();
      rest?.refresh();
      worker.postMessage({ vocabulary, texts } satisfies ToWorker);
      return new Promise((resolve) => {
        answer = resolve;
      });
    },
    close: end,
  };
}
