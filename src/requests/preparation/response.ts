import { inputToCompact } from '../../core/compaction/compaction.ts';
import type { Identity, UniquePart } from '../../core/ids.ts';
import { isObject } from '../../core/json.ts';
import type { ChatPart, ChatRequest } from '../../core/chat.ts';
import { affinityOf, type Route, type Routes } from '../../core/routes.ts';
import type { CompactionOptions, CompactionPlan, CompactionSettings } from '../../core/compaction/compaction.ts';
import { lazily } from '../../core/lazily.ts';
import { keptMessages } from '../../core/request/kept-input.ts';
import { withExactIntegers } from '../../core/request/exact-integers.ts';
import { settle } from '../../core/request/model-settings.ts';
import { checkModelSuffix, checkParameters, unpricedMedium } from '../../core/request/bounded-fields.ts';
import { toChatRequest, type Translation, type TranslationOptions } from '../../core/request/request.ts';
import type { UsedFields } from '../../core/request/used-fields.ts';
import type { InputEstimator } from '../../core/tokens/estimate.ts';
import { inputSizeOf } from '../../core/tokens/input-size.ts';
import type { CreateResponse } from '../../contract/types.ts';
import type { AuthMode, HistoryPolicy, ImageUrlPolicy, ModelMedia } from '../../contract/settings-types.ts';
import { digestOf } from '../../identity/identities.ts';
import type { Sealer, SealPurpose } from '../../identity/seal.ts';
import { compactionFor, loadOf, mayCompact, type MediaOption } from '../compact.ts';
import type { IncomingCreate } from '../incoming.ts';
import { inputItemsOf, type ItemResolver } from '../item-memory.ts';
import { leftOutOf } from '../left-out.ts';
import type { PlannedLoad, ResponsePlan } from '../plan.ts';
import { URL_FAULTS } from './image-urls.ts';
import { toTurn, withItems } from './turns.ts';
import { validateCompactResponse, validateCreateResponse } from './validate.ts';

export interface TranslationSettings {
  readonly hostedTools: TranslationOptions['hostedTools'];
  readonly routes: Routes;
  readonly history: HistoryPolicy;
  readonly sealers: Readonly<Record<SealPurpose, Sealer>>;
  readonly imageUrls: ImageUrlPolicy;
  readonly authMode: AuthMode;
  readonly usedFields: UsedFields;
}

export interface PrepareServices extends TranslationSettings, CompactionSettings {
  readonly estimator: InputEstimator;
  readonly itemMemory: ItemResolver;
  readonly defaultMaxOutputTokens: number;
  /** With 0 no later request continues this one. */
  readonly itemMemoryTtlS: number;
}

/** A plan with everything that it was made from. */
export interface Prepared extends ResponsePlan {
  readonly request: CreateResponse;
  readonly translation: Translation;
  readonly compaction: PreparedCompaction | undefined;
}

interface PreparedCompaction {
  readonly chat: ChatRequest;
  readonly route: Route;
  readonly resume?: (encryptedContent: string) => ChatRequest;
}

export interface ReceivedRequest {
  readonly bytes: Buffer;
  readonly unique: UniquePart;
  readonly identity: Identity;
  readonly isLimited: boolean;
  readonly needsOutputLimit: boolean;
}

export interface ParsedRequest extends ReceivedRequest {
  /** The bytes as JSON. It is changed. */
  readonly value: unknown;
}

export interface PrepareOptions {
  readonly endpoint: IncomingCreate['endpoint'];
  readonly mayBeEmpty?: boolean;
}

const VALIDATE = { responses: validateCreateResponse, 'responses.compact': validateCompactResponse };

/** Throws the ApiError of a request that is not valid, or that cannot be translated. */
export function prepare(parsed: ParsedRequest, options: PrepareOptions, services: PrepareServices): Prepared {
  return withItems(parsed, services, () => prepareResolved(parsed, options, services));
}

/** As `prepare`, for a request over HTTP, which a later one may continue. */
export function prepareTurn(parsed: ParsedRequest, options: PrepareOptions, services: PrepareServices): Prepared {
  const { value } = parsed;
  if (services.itemMemoryTtlS === 0 || !isObject(value)) return prepare(parsed, options, services);
  const { previous_response_id: continues } = value;
  const ownCount = inputItemsOf(value['input']).length;
  const prepared = prepare(parsed, options, services);
  const items = inputItemsOf(value['input']);
  return {
    ...prepared,
    turn: toTurn(items.slice(items.length - ownCount)),
    ...(typeof continues === 'string' && { continues }),
  };
}

function prepareResolved(
  parsed: ParsedRequest,
  { endpoint, mayBeEmpty = false }: PrepareOptions,
  services: PrepareServices,
): Prepared {
  const { identity, value, bytes } = parsed;
  const valid = withExactIntegers(VALIDATE[endpoint](value), bytes);
  const { model } = valid;
  const affinity = lazily(() => affinityOf(identity[0], valid));
  const route = services.routes.choose(model, affinity);
  const settings = services.models.present?.find(model, route.modelAliases.get(model) ?? model);
  const { request, overridden } = settle(valid, settings);
  const media = settings?.media;
  const options = {
    ...translationOptionsFor(identity, route, services),
    ...(parsed.needsOutputLimit && { isUnpriced: (part: ChatPart) => isUnpriced(part, media) }),
  };
  const bounded = parsed.needsOutputLimit ? boundOutput(request, services) : request;
  const translation = toChatRequest(bounded, { ...options, mayBeEmpty });
  if (parsed.isLimited) {
    checkModelSuffix(model);
    checkParameters(Object.keys(translation.parameters.passed), route.dialect);
  }
  const compacted = mayCompact(bounded)
    ? compactionOf(bounded, translation, { ...services, ...options, media, route, affinity, caller: identity[0] })
    : undefined;
  const inputSize = compacted?.inputSize ?? inputSizeOf(translation.chat, media);
  // Of the model that compacts less may be said.
  if (parsed.needsOutputLimit && inputSize.uncounted !== undefined) throw unpricedMedium('input');
  return {
    endpoint,
    model,
    backendModel: translation.chat.model,
    route,
    stream: request.stream === true,
    serviceTier: translation.chat.service_tier,
    conversation: digestOf(affinity()),
    request,
    translation,
    leftOut: leftOutOf(withIgnored(translation, overridden)),
    ...(endpoint === 'responses.compact' && { kept: keptOf(request, parsed) }),
    ...(compacted ?? {
      compaction: undefined,
      inputSize,
      maxOutputTokens: bounded.max_output_tokens ?? null,
      choices: 1,
    }),
  };
}

function isUnpriced(part: ChatPart, media: ModelMedia | undefined): boolean {
  return inputSizeOf({ messages: [{ content: [part] }] }, media).uncounted !== undefined;
}

interface CompactionRouting extends CompactionOptions, MediaOption {
  readonly estimator: InputEstimator;
  readonly routes: Routes;
  readonly route: Route;
  readonly affinity: () => string;
  readonly caller: string;
}

function compactionOf(
  request: CreateResponse,
  translation: Translation,
  options: CompactionRouting,
): (PlannedLoad & { readonly compaction: PreparedCompaction }) | undefined {
  const { compactionModel, routes, affinity } = options;
  const route = compactionModel === null ? options.route : routes.choose(compactionModel, affinity);
  const plan = compactionFor(request, translation, { ...options, ...route });
  return plan && { compaction: planned(plan, route, options), ...loadOf(plan, request, options) };
}

function withIgnored(translation: Translation, more: readonly string[]): Translation {
  if (more.length === 0) return translation;
  const { parameters } = translation;
  return { ...translation, parameters: { ...parameters, ignored: [...parameters.ignored, ...more] } };
}

function keptOf(request: CreateResponse, { bytes, unique }: ParsedRequest): Uint8Array {
  const kept = keptMessages(inputToCompact(request), bytes.length, unique);
  return Buffer.from(JSON.stringify(kept).slice(1, -1));
}

function planned({ chat, resume }: CompactionPlan, route: Route, options: CompactionOptions): PreparedCompaction {
  if (resume === undefined) return { chat, route };
  return { chat, route, resume: (encryptedContent) => toChatRequest(resume(encryptedContent), options).chat };
}

/** What is reserved bounds what runs, so the backend is told a limit where the caller names none. */
function boundOutput(request: CreateResponse, { defaultMaxOutputTokens }: PrepareServices): CreateResponse {
  return request.max_output_tokens === undefined ? { ...request, max_output_tokens: defaultMaxOutputTokens } : request;
}

/** Only what was sealed for this caller can be opened. */
export function translationOptionsFor(
  caller: Identity,
  { dialect, upstreamDialect, modelAliases }: Route,
  { hostedTools, history, sealers, imageUrls, usedFields }: TranslationSettings,
): TranslationOptions {
  return {
    dialect,
    upstreamDialect,
    modelAliases,
    hostedTools,
    history,
    openSeal: (sealed) => sealers.reasoning.open(caller, sealed),
    openCompaction: (sealed) => sealers.compaction.open(caller, sealed),
    urlFault: URL_FAULTS[imageUrls],
    usedFields,
  };
}
