import { extname } from 'node:path';
import { isLimited, needsOutputLimit } from '../../accounts/admission.ts';
import { ApiError } from '../../core/errors.ts';
import { takeTurns } from '../../core/limit-concurrency.ts';
import type { Rpc } from '../../rpc/rpc.ts';
import { createRestingThread, type RestingThreadOptions } from '../../rpc/resting-thread.ts';
import type { TokenEstimator } from '../../core/tokens/estimate.ts';
import type { Writable } from '../../core/writable.ts';
import type { IncomingCreate } from '../incoming.ts';
import type { ItemMemory } from '../item-memory.ts';
import type { ResponsePlan } from '../plan.ts';
import type { Answer, LargeRequest, PrepareService, ThreadSettings } from './worker.ts';

export interface PrepareThreadOptions extends Pick<RestingThreadOptions, 'onDeath' | 'startWorker' | 'restAfterMs'> {
  readonly settings: ThreadSettings;
  readonly estimator: Pick<TokenEstimator, 'estimateInput'>;
  readonly itemMemory: Pick<ItemMemory, 'recall'>;
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

/** Starts a thread when there is a large request, and another one after its end. */
export function createPrepareThread(options: PrepareThreadOptions): PrepareThread {
  // The shares of callers bound what waits.
  const takeTurn = takeTurns();
  // A build has the same tree in JavaScript.
  const file = new URL(`./worker${extname(import.meta.url)}`, import.meta.url);
  const thread = createRestingThread<PrepareService>({ ...options, file, name: 'large requests' });

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
    const asked = thread.wake();
    const { settings, estimator, itemMemory } = options;
    const request: Writable<LargeRequest> = {
      settings,
      bytes,
      identity,
      isLimited: isLimited(key),
      needsOutputLimit: needsOutputLimit(key),
    };
    asked.refresh();
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
      asked.refresh();
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
    close: () => thread.close(),
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
