import { extname } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { isLimited, needsOutputLimit } from '../../accounts/admission.ts';
import { ApiError } from '../../core/errors.ts';
import { takeTurns } from '../../core/limit-concurrency.ts';
import { openThreadRpc, type Rpc } from '../../core/rpc.ts';
import type { TokenEstimator } from '../../core/tokens/estimate.ts';
import type { Writable } from '../../core/writable.ts';
import type { IncomingCreate } from '../incoming.ts';
import type { ItemMemory } from '../item-memory.ts';
import type { ResponsePlan } from '../plan.ts';
import type { Answer, LargeRequest, PrepareService, ThreadSettings } from './worker.ts';

export interface PrepareThreadOptions {
  readonly settings: ThreadSettings;
  readonly estimator: Pick<TokenEstimator, 'estimateInput'>;
  readonly itemMemory: Pick<ItemMemory, 'recall'>;
  readonly onDeath: (message: string) => void;
  readonly startWorker?: (file: URL, options: WorkerOptions) => Worker;
  /** The thread ends after this time without an answer: it has nothing to do, or is stuck. */
  readonly restAfterMs?: number;
}

export interface PrepareThread {
  readonly prepare: PrepareLarge;
  close(): Promise<void>;
}

/**
 * Does what `prepare` does, for a request whose body has not been parsed. Throws the same errors,
 * and ApiError `server_overloaded` when the thread ends.
 */
export type PrepareLarge = (incoming: IncomingCreate) => Promise<ResponsePlan>;

interface Thread {
  readonly worker: Worker;
  readonly rpc: Rpc<PrepareService>;
  readonly rest: NodeJS.Timeout;
}

const REST_AFTER_MS = 60_000;

/** Starts a thread when there is a large request, and another one after its end. */
export function createPrepareThread(options: PrepareThreadOptions): PrepareThread {
  const { startWorker = (file, workerOptions) => new Worker(file, workerOptions), restAfterMs = REST_AFTER_MS } =
    options;
  // The shares of callers bound what waits.
  const takeTurn = takeTurns();
  let thread: Thread | undefined;

  function launch(): Thread {
    // A build has the same tree in JavaScript. The flags of the main thread are not for this one.
    const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
    const worker = startWorker(file, { execArgv: [] });
    worker.unref();
    const rpc = openThreadRpc<PrepareService>(worker, {
      name: 'large requests',
      onExit(lastWords) {
        if (thread !== launched) return;
        options.onDeath(lastWords);
        void end();
      },
    });
    const launched = { worker, rpc, rest: setTimeout(() => void end(), restAfterMs).unref() };
    return launched;
  }

  async function end(): Promise<void> {
    if (thread === undefined) return;
    const { worker, rpc, rest } = thread;
    thread = undefined;
    clearTimeout(rest);
    rpc.disconnect();
    await worker.terminate();
  }

  function inTurn<Result>(
    incoming: IncomingCreate,
    ask: (rpc: Rpc<PrepareService>, request: LargeRequest) => Promise<Answer<Result>>,
  ): Promise<Result> {
    return takeTurn(incoming.caller.holder().name, async () => {
      if (incoming.isServed()) throw new ApiError('client_disconnected');
      return preparedOf(await askThread(incoming, ask));
    });
  }

  async function askThread<Result>(
    { caller: { identity, key }, body: { bytes } }: IncomingCreate,
    ask: (rpc: Rpc<PrepareService>, request: LargeRequest) => Promise<Answer<Result>>,
  ): Promise<Decided<Result>> {
    thread ??= launch();
    const asked = thread;
    const { settings, estimator, itemMemory } = options;
    const request: Writable<LargeRequest> = {
      settings,
      bytes,
      identity,
      isLimited: isLimited(key),
      needsOutputLimit: needsOutputLimit(key),
    };
    asked.rest.refresh();
    try {
      for (;;) {
        const answer = await ask(asked.rpc, request);
        if (answer.kind === 'refers') request.recalled = itemMemory.recall(identity, answer.ids);
        else if (answer.kind === 'weighs') request.inputTokens = estimator.estimateInput(answer.input);
        else return answer;
      }
    } catch (cause) {
      if (!asked.rpc.isDisconnected) throw cause;
      const message = 'The thread that reads large requests ended. The request can be sent again.';
      throw new ApiError('server_overloaded', { message, headers: { 'retry-after': '1' }, cause });
    } finally {
      if (thread === asked) asked.rest.refresh();
    }
  }

  return {
    async prepare(incoming) {
      const { compaction, ...plan } = await inTurn(incoming, (rpc, request) => rpc.ask('prepare', request));
      if (compaction === undefined) return { ...plan, compaction };
      const resume = (encryptedContent: string) =>
        inTurn(incoming, (rpc, request) => rpc.ask('resume', request, encryptedContent));
      const { chat, resumes } = compaction;
      return { ...plan, compaction: resumes ? { chat, resume } : { chat } };
    },
    close: end,
  };
}

type Decided<Result> = Exclude<Answer<Result>, { readonly kind: 'refers' | 'weighs' }>;

function preparedOf<Result>(answer: Decided<Result>): Result {
  switch (answer.kind) {
    case 'prepared':
      return answer.result;
    case 'refused':
      throw new ApiError(answer.code, answer.options);
  }
}
