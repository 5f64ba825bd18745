/** What differs between backends, as data: one entry per kind of backend, and nothing about them anywhere else. */

/** Chat fields that only some backends take. A request's value for a field outside this set is left out, as README says. */
type OptionalField =
  | 'reasoning_effort'
  | 'verbosity'
  | 'service_tier'
  | 'prompt_cache_key'
  | 'safety_identifier'
  | 'user';

export interface Dialect {
  /** What `developer` and `system` text is sent as. */
  readonly systemRole: 'developer' | 'system' | 'as-given';
  /** Many chat templates take one system message, and only at the beginning: then all such text is merged there. */
  readonly systemPlace: 'merged-first' | 'in-place';
  readonly tokenLimitField: 'max_tokens' | 'max_completion_tokens';
  /** Whether `stream_options` may be sent; a backend that refuses it all the same is asked again without. */
  readonly streamOptions: boolean;
  /** The field of an assistant message which takes back the reasoning of that turn; null where there is none. */
  readonly reasoningField: 'reasoning_content' | 'reasoning' | null;
  /** The model's reasoning may come as a `<think>` block at the beginning of the text. */
  readonly thinkTags: boolean;
  /** Whether an assistant message has a `refusal` field; elsewhere a replayed refusal is sent as text. */
  readonly refusalField: boolean;
  readonly optionalFields: ReadonlySet<OptionalField>;
}

const GENERIC: Dialect = {
  systemRole: 'system',
  systemPlace: 'merged-first',
  tokenLimitField: 'max_tokens',
  streamOptions: true,
  reasoningField: null,
  thinkTags: false,
  refusalField: false,
  optionalFields: new Set(['reasoning_effort', 'user']),
};

const OPENAI: Dialect = {
  systemRole: 'as-given',
  systemPlace: 'in-place',
  tokenLimitField: 'max_completion_tokens',
  streamOptions: true,
  reasoningField: null,
  thinkTags: false,
  refusalField: true,
  optionalFields: new Set([
    'reasoning_effort',
    'verbosity',
    'service_tier',
    'prompt_cache_key',
    'safety_identifier',
    'user',
  ]),
};

export const DIALECTS = {
  generic: GENERIC,
  openai: OPENAI,
  azure: { ...OPENAI, optionalFields: new Set(['reasoning_effort', 'verbosity', 'prompt_cache_key', 'user']) },
  vllm: { ...GENERIC, reasoningField: 'reasoning', thinkTags: true },
  sglang: { ...GENERIC, reasoningField: 'reasoning_content', thinkTags: true },
  llamacpp: { ...GENERIC, reasoningField: 'reasoning_content', thinkTags: true },
  ollama: { ...GENERIC, reasoningField: 'reasoning', thinkTags: true },
  deepseek: { ...GENERIC, systemPlace: 'in-place', reasoningField: 'reasoning_content' },
  // Mistral answers 422 to a field it does not know, stream_options among them, and reports usage all the same.
  mistral: { ...GENERIC, streamOptions: false, optionalFields: new Set() },
  groq: {
    ...GENERIC,
    systemPlace: 'in-place',
    tokenLimitField: 'max_completion_tokens',
    reasoningField: 'reasoning',
    optionalFields: new Set(['reasoning_effort', 'service_tier', 'user']),
  },
  openrouter: {
    ...GENERIC,
    systemPlace: 'in-place',
    reasoningField: 'reasoning',
    optionalFields: new Set(['reasoning_effort', 'verbosity', 'user']),
  },
  together: { ...GENERIC, thinkTags: true },
} as const satisfies Record<string, Dialect>;

export type DialectName = keyof typeof DIALECTS;
