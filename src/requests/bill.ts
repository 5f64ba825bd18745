/** What a request is charged, by the plan that it ran by. */

import type { AdmissionTerms } from '../accounts/admission.ts';
import type { RateCharge } from '../accounts/rates.ts';
import type { KeyOwner } from '../backend/request-headers.ts';
import { isCancel } from '../core/errors.ts';
import { isWhole } from '../core/reply/usage.ts';
import type { TokenEstimator } from '../core/tokens/estimate.ts';
import type { Incoming } from './incoming.ts';
import { outcomeOf, type Ending } from './outcome.ts';
import { modelCallOf, type Plan } from './plan.ts';
import type { OpenPrompt } from './prompt-turns.ts';
import type { Settlement } from './record.ts';

export interface Bill {
  /** Settles by this plan from now on; returns false if the hold does not allow it. */
  reroute(plan: Plan): boolean;
  /** Returns what the end of the record is to say. Must be called once. */
  settle(ending: Ending): Settlement;
}

export interface BillOptions {
  readonly incoming: Incoming;
  readonly plan: Plan;
  readonly estimatedInputTokens: number;
  readonly admitted: AdmissionTerms;
  readonly taken: RateCharge;
  readonly estimator: TokenEstimator;
  readonly keyOwner: KeyOwner;
  /** The clock of this request, which does not jump when the time of day is set. */
  readonly clock: () => number;
  readonly prompt: OpenPrompt;
}

/** Returns the bill of a request that was accepted. */
export function openBill(options: BillOptions): Bill {
  const { incoming, admitted, taken, estimator, keyOwner, clock } = options;
  const { caller, facts } = incoming;
  let { plan } = options;

  return {
    reroute(next) {
      const { backendModel: model } = options.plan;
      // Of one model, since two that count differently do not make an input longer.
      const call = { ...modelCallOf(next, caller.identity, 0), model };
      const isCovered = admitted.reroute({ ...next, estimatedInputTokens: estimator.reserveInput(call) });
      if (isCovered) plan = next;
      return isCovered;
    },
    settle(ending) {
      const { failure, reported, unknownReason } = ending;
      facts.usage = reported.usage;
      facts.errorCode = failure?.code;
      facts.unknownFinish = unknownReason;
      const call = modelCallOf(plan, caller.identity, ending.outputLength);
      // What failed may have been passed on without being read.
      const isRead = failure === null || isCancel(failure);
      if (isRead && isWhole(reported)) {
        estimator.learn(call, reported.usage);
        facts.prompt = options.prompt.end(reported.usage);
      }
      const outcome = outcomeOf(ending, {
        completedAtMs: clock(),
        keyOwner,
        wasSent: facts.wasSent,
        upstream: facts.upstream ?? null,
        isStranger: caller.holder().isStranger,
        estimateUsage: () => estimator.estimateUsage(call, options.estimatedInputTokens),
        costOf: (usage, answer) => admitted.costOf(usage, answer),
        promptTurn: facts.prompt?.turn ?? null,
      });
      facts.savedMicro = outcome === 'discard' ? null : outcome.savedMicro;
      const used = outcome === 'discard' ? null : outcome.usage;
      return { outcome, correction: taken.correct(used === null ? 0 : used.input_tokens + used.output_tokens) };
    },
  };
}
