/** Backends refuse different fields, and differently for each model behind them. */

import type { ChatRequest } from '../core/chat.ts';
import type { SmallField } from '../core/encoded-chat.ts';
import type { Writable } from '../core/writable.ts';
import { REFUSALS_WITHIN, SAYS_UNKNOWN, type Within } from './refused-within.ts';
import { setLast } from '../core/set-last.ts';

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

type FieldWithin = keyof typeof REFUSALS_WITHIN;

type TopField = (typeof REFUSALS)[number]['field'];

type SentFields = Omit<ChatRequest, 'messages'>;

export type OptionalField = TopField | FieldWithin;

/** The fields of a request that matter here. */
export interface OptionalFields extends Pick<ChatRequest, 'model' | Exclude<TopField, 'include_obfuscation'>> {
  /** Is absent for a request that is passed on as it came. */
  readonly within?: () => Within;
}

const TOP_FIELDS: readonly TopField[] = REFUSALS.map(({ field }) => field);
const FIELDS_WITHIN = Object.keys(REFUSALS_WITHIN).filter(isWithin);
const OPTIONAL_FIELDS: readonly OptionalField[] = [...TOP_FIELDS, ...FIELDS_WITHIN];

/** Whether the field is inside of messages or tools. */
export function isWithin(field: string): field is FieldWithin {
  return Object.hasOwn(REFUSALS_WITHIN, field);
}

/** Returns the request without those of these fields that are at its top. */
export function withoutFields(request: SentFields, fields: readonly OptionalField[]): SentFields {
  if (fields.length === 0) return request;
  const rest: Writable<SentFields> = { ...request };
  for (const field of fields) if (field !== 'include_obfuscation' && !isWithin(field)) delete rest[field];
  if (fields.includes('include_obfuscation') && rest.stream_options !== undefined)
    rest.stream_options = { include_usage: true };
  if (rest.logprobs === undefined) delete rest.top_logprobs;
  return rest;
}

/** Returns the request without those of these fields that are inside of its messages and tools. */
export function withoutWithin(request: ChatRequest, fields: readonly OptionalField[]): ChatRequest {
  return FIELDS_WITHIN.filter((field) => fields.includes(field)).reduce(
    (rest, field) => REFUSALS_WITHIN[field].without(rest),
    request,
  );
}

/** Returns the fields of the request that a refusal names. */
export function fieldsRefusedIn(status: number, body: string, request: OptionalFields): OptionalField[] {
  const mayBe = status === 400 || status === 422 || ((status === 404 || status === 500) && NOTHING_RAN.test(body));
  if (!mayBe) return [];
  const named = [
    ...REFUSALS.filter(({ words }) => words.test(body)).map(({ field }) => field),
    ...FIELDS_WITHIN.filter((field) => REFUSALS_WITHIN[field].isNamedIn(body)),
  ];
  return named.filter((field) => valueOf(request, field) !== undefined);
}

/**
 * llama.cpp says 500 where the template of a model refuses its messages (ggml-org/llama.cpp#19851), and for images.
 * OpenRouter says 404 for these (NousResearch/hermes-agent PR#23411).
 */
const NOTHING_RAN = /\braise_exception\b|\bimage input\b/;

function valueOf(request: OptionalFields, field: OptionalField): unknown {
  if (isWithin(field)) return request.within && REFUSALS_WITHIN[field].valueOf(request.within());
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

  function forModel(model: string): OptionalField[] {
    byModel ??= Map.groupBy(refusals.values(), (refusal) => refusal.model);
    const fields = new Set((byModel.get(model) ?? []).filter(lasts).map(({ field }) => field));
    return OPTIONAL_FIELDS.filter((field) => fields.has(field));
  }

  return {
    any: () => [...refusals.values()].some(lasts),
    forModel,
    of(request) {
      if (refusals.size === 0) return [];
      const isRefused = (field: OptionalField): boolean =>
        (refusals.get(keyOf(request, field))?.untilMs ?? 0) > performance.now();
      // Only these are looked for, since a large request must be parsed for what is inside of its messages.
      return forModel(request.model).filter((field) => valueOf(request, field) !== undefined && isRefused(field));
    },
    remember(request, fields, words) {
      const lasting = fields.filter((field) => !FREE_TEXTS.has(field) || SAYS_UNKNOWN.test(words));
      byModel = undefined;
      for (const field of lasting) {
        const refusal = { model: request.model, field, untilMs: performance.now() + REMEMBERED_MS };
        setLast(refusals, keyOf(request, field), refusal, MAX_REMEMBERED);
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
