import type { Translator } from '../../core/reply/translator.ts';
import type { TokenEstimator } from '../../core/tokens/estimate.ts';
import type { CompactionResource } from '../../contract/types.ts';
import type { Identity } from '../../core/ids.ts';
import { modelCallOf, type ResponsePlan } from '../../requests/plan.ts';

export interface CompactionParts {
  readonly plan: ResponsePlan;
  readonly caller: Identity;
  readonly estimator: TokenEstimator;
}

/** Returns the JSON of a CompactionResource in pieces. */
export function toCompactionPieces(
  { response, outputLength }: Translator,
  { plan, caller, estimator }: CompactionParts,
): readonly (string | Uint8Array)[] {
  const { id, created_at, usage } = response;
  const { kept = new Uint8Array() } = plan;
  const compaction = JSON.stringify(response.output.filter((item) => item.type === 'compaction')).slice(1, -1);
  const resource: Omit<CompactionResource, 'output'> = {
    id,
    object: 'response.compaction',
    created_at,
    // The usage is required; without the backend's count it is what the record says.
    usage: usage ?? estimator.estimateUsage(modelCallOf(plan, caller, outputLength)),
  };
  const comma = kept.length > 0 && compaction !== '' ? ',' : '';
  return [`${JSON.stringify(resource).slice(0, -1)},"output":[`, kept, `${comma}${compaction}]}`];
}
