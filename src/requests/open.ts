import type { Logger } from 'pino';
import { rememberUsedFields } from '../core/request/used-fields.ts';
import { createTokenEstimator } from '../core/tokens/estimate.ts';
import { createSealers } from '../identity/seal.ts';
import { watchCancels } from './cancel-watch.ts';
import { createItemMemory } from './item-memory.ts';
import { createPromptTurns, type PromptTurns } from './prompt-turns.ts';
import { openPreparation, type Preparation, type PreparationOptions } from './preparation/preparation.ts';
import { createRunningRequests } from './running.ts';
import type { RelayServices } from './relay.ts';
import type { RespondServices } from './respond.ts';

export interface RequestServices extends RespondServices, RelayServices {
  readonly preparation: Preparation;
}

type OwnServices = 'running' | 'estimator' | 'sealers' | 'itemMemory' | 'usedFields' | 'preparation' | 'promptTurns';

export interface OpenRequestsOptions extends Omit<PreparationOptions, OwnServices | 'onDeath'> {
  /** What other rooms have opened. */
  readonly services: Omit<RequestServices, OwnServices>;
  readonly promptTurns?: PromptTurns;
  readonly log: Logger;
}

/** Opens what requests need on their way, with the thread for large ones. */
export function openRequests({ services, log, ...options }: OpenRequestsOptions): {
  readonly requests: RequestServices;
  readonly close: () => Promise<void>;
} {
  const { secret, gatewaySecretPrevious } = options;
  const own = {
    estimator: createTokenEstimator(),
    itemMemory: createItemMemory({ ...options, nowMs: services.nowMs }),
    sealers: createSealers(secret, gatewaySecretPrevious),
    usedFields: rememberUsedFields(),
    promptTurns: options.promptTurns ?? createPromptTurns({ secret, nowMs: services.nowMs }),
  };
  const preparation = openPreparation({
    ...options,
    ...own,
    onDeath: (problem) => log.error({ problem }, 'the thread of large requests ended'),
  });
  const running = createRunningRequests();
  const stopWatching = watchCancels(services.store, running);
  return {
    requests: { ...services, ...own, preparation, running },
    async close() {
      stopWatching();
      await preparation.close();
    },
  };
}
