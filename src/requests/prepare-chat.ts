import type { Dialect } from '../core/dialects.ts';
import type { Edit } from '../core/json-bytes.ts';
import { checkModelSuffix, checkServiceTier } from '../core/request/refused-fields.ts';
import { inputSizeOf } from '../core/tokens/input-size.ts';
import { asksForUsage, editsOf, findFields, limitOf } from './chat-body.ts';
import type { Plan } from './plan.ts';
import type { Asked } from './prepare.ts';
import { validateCreateChatCompletion } from './validate.ts';

export interface ChatSettings {
  readonly modelAliases: ReadonlyMap<string, string>;
  readonly dialect: Pick<Dialect, 'tokenLimitField'>;
  readonly defaultMaxOutputTokens: number;
}

export interface PreparedChat extends Plan {
  /** The client wants a stream without its usage. */
  readonly canAskForUsage: boolean;
  /** Returns how the body differs towards the backend. */
  readonly edits: (withUsage: boolean) => readonly Edit[];
}

/** Throws the ApiError of a chat completion that is not valid, or that its key may not ask for. */
export function prepareChat(
  { bytes, value, isLimited, needsOutputLimit }: Pick<Asked, 'bytes' | 'value' | 'isLimited' | 'needsOutputLimit'>,
  { modelAliases, dialect, defaultMaxOutputTokens }: ChatSettings,
): PreparedChat {
  const wanted = validateCreateChatCompletion(value);
  const fields = findFields(bytes, { isLimited });
  if (isLimited) {
    checkModelSuffix(wanted.model);
    checkServiceTier(wanted.service_tier);
  }
  const model = modelAliases.get(wanted.model);
  const stream = wanted.stream === true;
  const named = limitOf(wanted);
  // What is reserved bounds what runs.
  const isEndless = named === null || named <= 0;
  const tokens = isEndless && needsOutputLimit ? defaultMaxOutputTokens : named;
  const limit = isLimited ? { name: dialect.tokenLimitField, tokens } : undefined;
  return {
    endpoint: 'chat.completions',
    model: wanted.model,
    backendModel: model ?? wanted.model,
    stream,
    inputSize: inputSizeOf(wanted),
    maxOutputTokens: tokens !== null && tokens > 0 ? tokens : null,
    choices: wanted.n ?? 1,
    canAskForUsage: stream && !asksForUsage(wanted),
    edits: (withUsage) => editsOf(bytes, fields, { model, limit, asksForUsage: withUsage }),
  };
}
