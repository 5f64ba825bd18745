import { extname } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { messageOf } from '../core/errors.ts';
import { openThreadRpc, type Rpc } from '../core/rpc.ts';
import type { Vocabulary } from './vocabulary.ts';
import type { CountService } from './worker.ts';

export type StartWorker = (file: URL, options: WorkerOptions) => Worker;

export interface ThreadOptions {
  readonly onDeath: (message: string) => void;
  readonly startWorker?: StartWorker;
  /** The thread ends after this time without an answer: it has nothing to do, or is stuck. */
  readonly restAfterMs?: number;
}

export interface TokenizerThread {
  /** Returns undefined when the thread ends before it has answered. Takes one call at a time. */
  count(vocabulary: Vocabulary, texts: readonly string[]): Promise<number | undefined>;
  close(): Promise<void>;
}

interface Thread {
  readonly worker: Worker;
  readonly rpc: Rpc<CountService>;
  readonly rest: NodeJS.Timeout;
}

const REST_AFTER_MS = 60_000;

/** Starts a thread when there is something to count, and another one after its end. */
export function createThread(options: ThreadOptions): TokenizerThread {
  const { startWorker = (file, workerOptions) => new Worker(file, workerOptions), restAfterMs = REST_AFTER_MS } =
    options;
  let thread: Thread | undefined;

  function launch(): Thread {
    // A build has the same tree in JavaScript. The flags of the main thread are not for this one.
    const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
    const worker = startWorker(file, { execArgv: [] });
    worker.unref();
    const rpc = openThreadRpc<CountService>(worker, {
      name: 'tokenizer',
      onExit: (lastWords) => bury(launched, lastWords),
    });
    const launched = { worker, rpc, rest: setTimeout(() => void end(), restAfterMs).unref() };
    return launched;
  }

  function bury(dead: Thread, why: string): void {
    if (thread !== dead) return;
    options.onDeath(why);
    void end();
  }

  async function end(): Promise<void> {
    if (thread === undefined) return;
    const { worker, rpc, rest } = thread;
    thread = undefined;
    clearTimeout(rest);
    rpc.disconnect();
    await worker.terminate();
  }

  return {
    async count(vocabulary, texts) {
      thread ??= launch();
      const asked = thread;
      asked.rest.refresh();
      try {
        const tokens = await asked.rpc.ask('count', vocabulary, texts);
        if (thread === asked) asked.rest.refresh();
        return tokens;
      } catch (error) {
        bury(asked, messageOf(error));
        return undefined;
      }
    },
    close: end,
  };
}
