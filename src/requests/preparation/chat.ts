import { digestOf } from '../../identity/identities.ts';
import { lazily } from '../../core/lazily.ts';
import { affinityOf } from '../../core/routes.ts';
import type { Edit } from '../../core/json-bytes.ts';
import { checkModelSuffix, checkServiceTier, unpricedMedium } from '../../core/request/bounded-fields.ts';
import { inputSizeOf } from '../../core/tokens/input-size.ts';
import { asksForUsage, editsOf, findFields, limitOf } from './chat-body.ts';
import type { Plan } from '../plan.ts';
import { chatUrlFaultOf, checkUrls } from './chat-urls.ts';
import type { ParsedRequest, PrepareServices } from './response.ts';
import { validateCreateChatCompletion } from './validate.ts';

export type ChatSettings = Pick<
  PrepareServices,
  'routes' | 'models' | 'imageUrls' | 'authMode' | 'defaultMaxOutputTokens'
>;

export interface PreparedChat extends Plan {
  /** The client wants a stream without its usage. */
  readonly canAskForUsage: boolean;
  /** Returns how the body differs towards the backend. */
  readonly edits: (withUsage: boolean) => readonly Edit[];
}

/** Throws the ApiError of a chat completion that is not valid, or that its key may not ask for. */
export function prepareChat(
  { bytes, value, identity, isLimited, needsOutputLimit }: ParsedRequest,
  settings: ChatSettings,
): PreparedChat {
  const { routes, models, defaultMaxOutputTokens } = settings;
  const wanted = validateCreateChatCompletion(value);
  const affinity = lazily(() => affinityOf(identity[0], wanted));
  const route = routes.choose(wanted.model, affinity);
  if (isLimited) {
    checkModelSuffix(wanted.model);
    checkServiceTier(wanted.service_tier);
  }
  const fields = findFields(bytes, isLimited ? route.dialect : undefined);
  const model = route.modelAliases.get(wanted.model);
  const urlFault = chatUrlFaultOf(settings);
  if (urlFault !== undefined) checkUrls(wanted.messages, urlFault);
  const inputSize = inputSizeOf(wanted, models.present?.find(wanted.model, model ?? wanted.model)?.media);
  if (needsOutputLimit && inputSize.uncounted !== undefined) throw unpricedMedium(inputSize.uncounted);
  const stream = wanted.stream === true;
  const named = limitOf(wanted);
  // What is reserved bounds what runs.
  const isEndless = named === null || named <= 0;
  const tokens = isEndless && needsOutputLimit ? defaultMaxOutputTokens : named;
  const limit = isLimited ? { name: route.dialect.tokenLimitField, tokens } : undefined;
  return {
    endpoint: 'chat.completions',
    model: wanted.model,
    backendModel: model ?? wanted.model,
    route,
    stream,
    ...(typeof wanted.service_tier === 'string' && { serviceTier: wanted.service_tier }),
    conversation: digestOf(affinity()),
    inputSize,
    maxOutputTokens: tokens !== null && tokens > 0 ? tokens : null,
    choices: wanted.n ?? 1,
    canAskForUsage: stream && !asksForUsage(wanted),
    edits: (withUsage) => editsOf(bytes, fields, { model, limit, asksForUsage: withUsage }),
  };
}
