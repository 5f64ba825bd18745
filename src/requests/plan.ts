import type { CompactionOptions, CompactionPlan } from '../core/compaction/compaction.ts';
import type { RecordedEndpoint } from '../core/ids.ts';
import type { Translation } from '../core/request/request.ts';
import type { Exchange } from '../core/tokens/estimate.ts';
import type { InputSize } from '../core/tokens/input-size.ts';
import type { Identity } from '../identity/identities.ts';
import type { CreateResponse } from '../contract/types.ts';

export interface Plan {
  readonly endpoint: RecordedEndpoint;
  readonly model: string;
  readonly backendModel: string;
  readonly stream: boolean;
  readonly inputSize: InputSize;
  /** Limits one choice; null without a limit. */
  readonly maxOutputTokens: number | null;
  readonly choices: number;
}

export interface ResponsePlan extends Plan {
  readonly request: CreateResponse;
  readonly translation: Translation;
  readonly compaction: CompactionPlan | undefined;
  readonly compactionOptions: CompactionOptions;
}

/** Returns what an estimate is made from. `outputLength` is in UTF-16 code units. */
export function exchangeOf(plan: Plan, caller: Identity, outputLength: number): Exchange {
  const { backendModel, inputSize, maxOutputTokens, choices } = plan;
  return {
    model: backendModel,
    caller: caller[0],
    inputSize,
    outputLength,
    allowedOutputTokens: maxOutputTokens === null ? null : choices * maxOutputTokens,
  };
}
