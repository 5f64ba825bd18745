import { isLimited, needsOutputLimit } from '../accounts/admission.ts';
import type { CompactionOptions } from '../core/compaction/compaction.ts';
import { checkFields, checkModelSuffix, checkServiceTier } from '../core/request/refused-fields.ts';
import { toChatRequest, type TranslationOptions } from '../core/request/request.ts';
import type { TokenEstimator } from '../core/tokens/estimate.ts';
import { inputSizeOf } from '../core/tokens/input-size.ts';
import type { CreateResponse, HistoryPolicy, ImageUrlPolicy } from '../contract/types.ts';
import type { Identity } from '../identity/identities.ts';
import type { Sealer, SealPurpose } from '../identity/seal.ts';
import { compactionFor, loadOf } from './compact.ts';
import type { Caller, IncomingCreate } from './incoming.ts';
import type { ItemMemory } from './item-memory.ts';
import type { ResponsePlan } from './plan.ts';
import { URL_FAULTS } from './image-urls.ts';

export interface TranslationSettings extends Pick<
  TranslationOptions,
  'dialect' | 'upstreamDialect' | 'modelAliases' | 'hostedTools'
> {
  readonly history: HistoryPolicy;
  readonly sealers: Readonly<Record<SealPurpose, Sealer>>;
  readonly imageUrls: ImageUrlPolicy;
}

export interface PrepareServices
  extends TranslationSettings, Pick<CompactionOptions, 'compactionModel' | 'compactionMaxOutputTokens'> {
  readonly estimator: TokenEstimator;
  readonly itemMemory: ItemMemory;
  readonly defaultMaxOutputTokens: number;
}

/** Throws the ApiError of a request that is not valid, or that cannot be translated. */
export function prepare(incoming: IncomingCreate, services: PrepareServices): ResponsePlan {
  const { caller, body, endpoint } = incoming;
  services.itemMemory.resolve(caller.identity, body.value);
  const request = incoming.validate(body.value);
  const compactionOptions = { ...services, ...translationOptionsFor(caller.identity, services) };
  const bounded = boundOutput(request, caller, services);
  const translation = toChatRequest(bounded, { ...compactionOptions, mayBeEmpty: incoming.isWarmUp === true });
  if (isLimited(caller.key)) {
    checkModelSuffix(request.model);
    checkServiceTier(translation.chat.service_tier);
    checkFields(Object.keys(translation.parameters.passed));
  }
  const compaction = compactionFor(bounded, translation, { ...compactionOptions, caller: caller.identity[0] });
  return {
    endpoint,
    model: request.model,
    backendModel: translation.chat.model,
    stream: request.stream === true,
    request,
    translation,
    compaction,
    compactionOptions,
    ...(compaction === undefined
      ? {
          inputSize: inputSizeOf(translation.chat),
          maxOutputTokens: bounded.max_output_tokens ?? null,
          choices: 1,
        }
      : loadOf(compaction, bounded, compactionOptions)),
  };
}

/** What is reserved bounds what runs, so the backend is told a limit where the caller names none. */
function boundOutput(
  request: CreateResponse,
  { key }: Caller,
  { defaultMaxOutputTokens }: Pick<PrepareServices, 'defaultMaxOutputTokens'>,
): CreateResponse {
  if (request.max_output_tokens !== undefined || !needsOutputLimit(key)) return request;
  return { ...request, max_output_tokens: defaultMaxOutputTokens };
}

/** Only what was sealed for this caller can be opened. */
export function translationOptionsFor(caller: Identity, settings: TranslationSettings): TranslationOptions {
  const { dialect, upstreamDialect, modelAliases, hostedTools, history, sealers, imageUrls } = settings;
  return {
    dialect,
    upstreamDialect,
    modelAliases,
    hostedTools,
    history,
    openSeal: (sealed) => sealers.reasoning.open(caller, sealed),
    openCompaction: (sealed) => sealers.compaction.open(caller, sealed),
    urlFault: URL_FAULTS[imageUrls],
  };
}
