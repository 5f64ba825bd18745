/** Backends refuse different fields, and differently for each model behind them. */

import type { ChatRequest } from '../core/chat.ts';
import type { SmallField } from '../core/encoded-chat.ts';
import type { Writable } from '../core/writable.ts';

/** A request can do without these. Each has the words with which a backend refuses it. */
const REFUSALS = [
  { field: 'include_obfuscation', words: /\binclude_obfuscation\b/ },
  // Mistral (dnakov/anon-kode#53).
  { field: 'stream_options', words: /\b(?:stream_options(?!\W+include_obfuscation)|include_usage)\b/ },
  // Azure Foundry, for models that are not OpenAI's (vectorize-io/hindsight#3518).
  { field: 'prompt_cache_key', words: /\bprompt_cache_key\b/ },
  { field: 'parallel_tool_calls', words: /\bparallel_tool_calls\b/ },
  { field: 'service_tier', words: /\bservice_tier\b/ },
  // xAI: "does not support parameter reasoningEffort" (BerriAI/litellm PR#16265). Gemini Pro: "Budget 0
  // is invalid. This model only works in thinking mode" (vercel/ai#8027), for the effort `none`.
  { field: 'reasoning_effort', words: /\breasoning(?:_e|E)ffort\b|\bthinking_budget\b|only works in thinking mode/ },
  // DeepSeek R1 at OpenRouter (vellum-ai/vellum-assistant PR#32428).
  { field: 'reasoning', words: /\bReasoning is mandatory\b/ },
  { field: 'verbosity', words: /\bverbosity\b/ },
  // Kimi K3 (mnfst/modelparams.dev PR#168).
  { field: 'thinking', words: /\bthinking\b/ },
  { field: 'chat_template_kwargs', words: /\bchat_template_kwargs\b/ },
  { field: 'safety_identifier', words: /\bsafety_identifier\b/ },
  { field: 'logprobs', words: /\b(?:top_)?logprobs\b/ },
  // The word alone is in many errors about messages.
  {
    field: 'user',
    words:
      /"param":\s*"user"|"loc":\s*\["body",\s*"user"\]|\b(?:argument|parameter|field|property|key|name)s?\b[^.]{0,40}\Wuser\b/i,
  },
] as const satisfies readonly { readonly field: SmallField | 'include_obfuscation'; readonly words: RegExp }[];

export type OptionalField = (typeof REFUSALS)[number]['field'];

/** The fields of a request that matter here. */
export type OptionalFields = Pick<ChatRequest, 'model' | Exclude<OptionalField, 'include_obfuscation'>>;

const OPTIONAL_FIELDS: readonly OptionalField[] = REFUSALS.map(({ field }) => field);

type SentFields = Omit<ChatRequest, 'messages'>;

/** Returns the request without these fields. */
export function withoutFields(request: SentFields, fields: readonly OptionalField[]): SentFields {
  if (fields.length === 0) return request;
  const rest: Writable<SentFields> = { ...request };
  for (const field of fields) if (field !== 'include_obfuscation') delete rest[field];
  if (fields.includes('include_obfuscation') && rest.stream_options !== undefined)
    rest.stream_options = { include_usage: true };
  if (rest.logprobs === undefined) delete rest.top_logprobs;
  return rest;
}

/** Returns the fields of the request that a refusal names. */
export function fieldsRefusedIn(status: number, body: string, request: OptionalFields): OptionalField[] {
  if (status !== 400 && status !== 422) return [];
  return REFUSALS.filter(({ field, words }) => valueOf(request, field) !== undefined && words.test(body)).map(
    ({ field }) => field,
  );
}

function valueOf(request: OptionalFields, field: OptionalField): unknown {
  return field === 'include_obfuscation' ? request.stream_options?.include_obfuscation : request[field];
}

export interface KnownRefusals {
  /** Whether any field is left out for any model now. */
  any(): boolean;
  /** Returns the fields that are left out for a model now, at least with some value. */
  forModel(model: string): OptionalField[];
}

export interface RefusedFields extends KnownRefusals {
  of(request: OptionalFields): OptionalField[];
  /** Returns those that other requests leave out too. */
  remember(request: OptionalFields, fields: readonly OptionalField[], words: string): OptionalField[];
}

/** A backend may be replaced by a newer one. */
const REMEMBERED_MS = 60 * 60 * 1000;
/** Callers choose the names of models. */
const MAX_REMEMBERED = 1000;
/** A value of these is a caller's own, and is hardly sent again by another. */
const FREE_TEXTS: ReadonlySet<OptionalField> = new Set(['prompt_cache_key', 'safety_identifier', 'user']);
const SAYS_UNKNOWN =
  /unrecognized|unknown|unsupported|unexpected|\bextra|\bnot (?:supported|permitted|allowed|available|recognized)/i;

/**
 * Remembers for an hour which fields the backend refuses for a model. One caller's bad value must not
 * take the field from all callers, so other values of it are still sent.
 */
export function rememberRefusedFields(): RefusedFields {
  const refusals = new Map<string, Remembered>();
  /** Made when it is asked for, since a list of models asks for each of them. */
  let byModel: ReadonlyMap<string, readonly Remembered[]> | undefined;

  function keyOf(request: OptionalFields, field: OptionalField): string {
    const { model } = request;
    return JSON.stringify(FREE_TEXTS.has(field) ? [model, field] : [model, field, valueOf(request, field)]);
  }

  return {
    any: () => [...refusals.values()].some(lasts),
    forModel(model) {
      byModel ??= Map.groupBy(refusals.values(), (refusal) => refusal.model);
      const fields = new Set((byModel.get(model) ?? []).filter(lasts).map(({ field }) => field));
      return OPTIONAL_FIELDS.filter((field) => fields.has(field));
    },
    of(request) {
      if (refusals.size === 0) return [];
      const isRefused = (field: OptionalField): boolean =>
        (refusals.get(keyOf(request, field))?.untilMs ?? 0) > performance.now();
      return OPTIONAL_FIELDS.filter((field) => valueOf(request, field) !== undefined && isRefused(field));
    },
    remember(request, fields, words) {
      const lasting = fields.filter((field) => !FREE_TEXTS.has(field) || SAYS_UNKNOWN.test(words));
      byModel = undefined;
      for (const field of lasting) {
        const key = keyOf(request, field);
        refusals.delete(key);
        refusals.set(key, { model: request.model, field, untilMs: performance.now() + REMEMBERED_MS });
        const [oldest] = refusals.keys();
        if (refusals.size > MAX_REMEMBERED && oldest !== undefined) refusals.delete(oldest);
      }
      return lasting;
    },
  };
}

function lasts({ untilMs }: Remembered): boolean {
  return untilMs > performance.now();
}

interface Remembered {
  readonly model: string;
  readonly field: OptionalField;
  readonly untilMs: number;
}
