import { isLimited } from '../accounts/admission.ts';
import type { CompactionOptions } from '../core/compaction/compaction.ts';
import { checkServiceTier } from '../core/request/refused-fields.ts';
import { toChatRequest, type Translation, type TranslationOptions } from '../core/request/request.ts';
import { inputSizeOf, type InputSize, type TokenEstimator } from '../core/tokens/estimate.ts';
import type { CreateResponse, ImageUrlPolicy } from '../contract/types.ts';
import type { Identity } from '../identity/identities.ts';
import type { Sealer, SealPurpose } from '../identity/seal.ts';
import { compactionFor, holdsCompaction, loadOf, sizeOfChat } from './compact.ts';
import type { IncomingCreate } from './incoming.ts';
import type { ItemMemory } from './item-memory.ts';
import type { ResponsePlan } from './plan.ts';
import { URL_FAULTS } from './image-urls.ts';

export interface TranslationSettings extends Pick<
  TranslationOptions,
  'dialect' | 'upstreamDialect' | 'modelAliases' | 'hostedTools'
> {
  readonly sealers: Readonly<Record<SealPurpose, Sealer>>;
  readonly imageUrls: ImageUrlPolicy;
}

export interface PrepareServices
  extends TranslationSettings, Pick<CompactionOptions, 'compactionModel' | 'compactionMaxOutputTokens'> {
  readonly estimator: TokenEstimator;
  readonly itemMemory: ItemMemory;
}

/** Throws the ApiError of a request that is not valid, or that cannot be translated. */
export function prepare(incoming: IncomingCreate, services: PrepareServices): ResponsePlan {
  const { caller, body, endpoint } = incoming;
  const bytesRemembered = services.itemMemory.resolve(caller.identity, body.value) + (incoming.continues?.bytes ?? 0);
  const request = incoming.validate(body.value);
  const compactionOptions = { ...services, ...translationOptionsFor(caller.identity, services) };
  const translation = toChatRequest(request, { ...compactionOptions, mayBeEmpty: incoming.isWarmUp === true });
  if (isLimited(caller.key)) checkServiceTier(translation.chat.service_tier);
  const compaction = compactionFor(request, translation, compactionOptions);
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
          inputSize: sizeOfInput(request, translation, body.bytes.length + bytesRemembered),
          maxOutputTokens: request.max_output_tokens ?? null,
          choices: 1,
        }
      : loadOf(compaction, request, compactionOptions)),
  };
}

/** Returns the size of the input that the backend gets. */
export function sizeOfInput(
  request: CreateResponse,
  { chat, droppedItems }: Pick<Translation, 'chat' | 'droppedItems'>,
  bodyBytes: number,
): InputSize {
  return holdsCompaction(request) || droppedItems.length > 0 ? sizeOfChat(chat) : inputSizeOf(chat, bodyBytes);
}

/** Only what was sealed for this caller can be opened. */
export function translationOptionsFor(caller: Identity, settings: TranslationSettings): TranslationOptions {
  const { dialect, upstreamDialect, modelAliases, hostedTools, sealers, imageUrls } = settings;
  return {
    dialect,
    upstreamDialect,
    modelAliases,
    hostedTools,
    openSeal: (sealed) => sealers.reasoning.open(caller, sealed),
    openCompaction: (sealed) => sealers.compaction.open(caller, sealed),
    urlFault: URL_FAULTS[imageUrls],
  };
}
