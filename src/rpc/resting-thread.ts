import { Worker, type WorkerOptions } from 'node:worker_threads';
import { openThreadRpc, type Rpc, type RpcService } from './rpc.ts';

export type StartWorker = (file: URL, options: WorkerOptions) => Worker;

export interface ThreadOptions {
  readonly onDeath: (message: string) => void;
  readonly startWorker?: StartWorker | undefined;
  /** The thread ends after this time without an answer: it has nothing to do, or is stuck. */
  readonly restAfterMs?: number | undefined;
}

export interface RestingThreadOptions extends ThreadOptions {
  readonly file: URL;
  readonly name: string;
  readonly workerData?: unknown;
}

export interface LivingThread<Service extends RpcService> {
  readonly rpc: Rpc<Service>;
  /** Puts off the rest. Must be called before and after each call. */
  refresh(): void;
  /** Ends the thread, and tells why, unless it has ended. */
  bury(why: string): void;
}

export interface RestingThread<Service extends RpcService> {
  /** Returns the thread, which is started if there is none. */
  wake(): LivingThread<Service>;
  close(): Promise<void>;
}

const REST_AFTER_MS = 60_000;

/** Starts a thread with the first call, and another one after its end. */
export function createRestingThread<Service extends RpcService>(options: RestingThreadOptions): RestingThread<Service> {
  const { startWorker = (file, workerOptions) => new Worker(file, workerOptions), restAfterMs = REST_AFTER_MS } =
    options;
  let living: (LivingThread<Service> & { end(): Promise<void> }) | undefined;

  function launch(): LivingThread<Service> & { end(): Promise<void> } {
    // The flags of the main thread are not for this one.
    const worker = startWorker(options.file, { execArgv: [], workerData: options.workerData });
    worker.unref();
    const rest = setTimeout(() => void end(), restAfterMs).unref();
    const rpc = openThreadRpc<Service>(worker, { name: options.name, onExit: (lastWords) => bury(lastWords) });
    const launched = { rpc, refresh, bury, end };
    return launched;

    function refresh(): void {
      if (living === launched) rest.refresh();
    }

    function bury(why: string): void {
      if (living !== launched) return;
      options.onDeath(why);
      void end();
    }

    async function end(): Promise<void> {
      if (living !== launched) return;
      living = undefined;
      clearTimeout(rest);
      rpc.disconnect();
      await worker.terminate();
    }
  }

  return {
    wake: () => (living ??= launch()),
    close: async () => living?.end(),
  };
}
