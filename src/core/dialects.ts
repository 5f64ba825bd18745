/**
 * All differences between backends, as data. Each comment names the source of a difference. An
 * operator can add entries in the same format (`DIALECTS_FILE`, schemas/dialects.json).
 */

import type { ReasoningEffort } from '../contract/types.ts';
import type { OwnDialect } from '../contract/settings-types.ts';

/** What is undefined in most kinds. */
type Rare = 'forcedCallFields' | 'foreignCallState';

/** A kind of backend says everything that schemas/dialects.json describes. */
export type Dialect = {
  readonly [Name in Exclude<keyof OwnDialect, 'extends'>]: Readonly<
    Name extends Rare ? OwnDialect[Name] : Exclude<OwnDialect[Name], undefined>
  >;
};

export type DialectParameters = Pick<Dialect, 'parameters' | 'unboundedParameters'>;

/** Follows the strictest chat templates, because the backend is unknown. */
const GENERIC: Dialect = {
  keyHeader: 'authorization',
  systemRole: 'system',
  // Many chat templates take only one system message, at the beginning.
  systemPlace: 'merged-first',
  // "Conversation roles must alternate": templates of Gemma and Mistral (charmbracelet/crush#279).
  userMessages: 'merged',
  afterOutputs: 'nothing',
  streams: 'as-asked',
  tokenLimitField: 'max_tokens',
  // A backend that refuses `stream_options` is asked again without it.
  streamOptions: true,
  padsChunks: false,
  // Moonshot and hosts of DeepSeek's models answer 400 without it (continuedev/continue#11600), and
  // z.ai asks for it (docs.z.ai, thinking mode). Cerebras and others refuse it (Kilo-Org/kilocode#10375),
  // so that a model which sent no thoughts gets none.
  reasoningField: 'as-used',
  reasoningAlways: false,
  efforts: null,
  effortFields: {},
  forcedCallFields: undefined,
  thinkTags: false,
  // Without the field a replayed refusal is sent as text.
  refusalField: false,
  foreignCallState: undefined,
  callIds: 'any',
  strictTools: true,
  // "Invalid tool_choice type: 'object'" (LM Studio, lmstudio-ai/lmstudio-bug-tracker#670).
  toolChoice: 'words',
  schemaForm: 'both',
  serviceTiers: {},
  imageForm: 'data-or-url',
  fileForm: 'data',
  audioForm: 'object',
  inputCounter: null,
  optionalFields: ['reasoning_effort', 'user'],
  // OpenAI's reference of chat completions has them.
  parameters: ['logit_bias', 'seed', 'stop'],
  unboundedParameters: [],
};

/** These services have templates of their own, which take messages in any sensible order. */
const HOSTED: Dialect = {
  ...GENERIC,
  systemPlace: 'in-place',
  userMessages: 'as-given',
  // Strict services refuse the field of another model. Foundry's DeepSeek misses its cache without
  // its own (earendil-works/pi#9645).
  reasoningField: 'as-sent',
  toolChoice: 'named',
};

/** These servers run the template of any model. They take text, images and audio. */
const LOCAL: Dialect = {
  ...GENERIC,
  thinkTags: true,
  fileForm: 'none',
  parameters: [...GENERIC.parameters, 'chat_template_kwargs', 'min_p', 'top_k'],
};

/**
 * The templates of Qwen read `enable_thinking`, and those of Granite and DeepSeek `thinking`
 * (vllm-project/vllm#17356). Others ignore both.
 */
const NO_THINKING_IN_TEMPLATE = {
  none: { chat_template_kwargs: { enable_thinking: false, thinking: false } },
} as const;

const OPENAI: Dialect = {
  ...HOSTED,
  systemRole: 'as-given',
  tokenLimitField: 'max_completion_tokens',
  // OpenAI's reference of chat completions: `include_obfuscation` is on by default.
  padsChunks: true,
  refusalField: true,
  // The same reference has `allowed_tools`.
  toolChoice: 'allowed',
  // "Expected a string with maximum length 40" (microsoft/autogen#6377, Portkey-AI/gateway#1062).
  // Files by URL exist only in the Responses API (OpenAI's guide "File inputs").
  callIds: 'up-to-40',
  optionalFields: ['reasoning_effort', 'verbosity', 'service_tier', 'prompt_cache_key', 'safety_identifier', 'user'],
};

const LOW_TO_HIGH: readonly ReasoningEffort[] = ['low', 'medium', 'high'];

const THINKING_DISABLED = { thinking: { type: 'disabled' } } as const;

export const DIALECTS = {
  generic: GENERIC,
  openai: OPENAI,
  // "Unrecognized request argument supplied: prompt_cache_key", for models that are not OpenAI's
  // (vectorize-io/hindsight#3518, MoonshotAI/kimi-code#2611).
  // With `?api-version=` its key goes in `api-key` (BoundaryML's and ellmer's guides for Azure).
  // Its DeepSeek answers a `tool_choice` that is no string with 422 (langchain-ai/langchain#31512).
  azure: {
    ...OPENAI,
    keyHeader: 'api-key',
    padsChunks: false,
    toolChoice: 'words',
    optionalFields: ['reasoning_effort', 'verbosity', 'user'],
  },
  // vllm/entrypoints/chat_utils.py reads `reasoning` and takes only text, image, audio and video
  // parts. chat_completion/protocol.py has these efforts, and tokenize/protocol.py the counter, which
  // is beside /v1.
  vllm: {
    ...LOCAL,
    reasoningField: 'reasoning',
    efforts: LOW_TO_HIGH,
    effortFields: NO_THINKING_IN_TEMPLATE,
    toolChoice: 'named',
    inputCounter: { path: '../tokenize', field: 'count' },
    parameters: [
      ...LOCAL.parameters,
      'allowed_token_ids',
      'bad_words',
      'cache_salt',
      'documents',
      'include_reasoning',
      'include_stop_str_in_output',
      'length_penalty',
      'repetition_penalty',
      'skip_special_tokens',
      'spaces_between_special_tokens',
      'stop_token_ids',
      'structured_outputs',
      'thinking_token_budget',
      'truncate_prompt_tokens',
    ],
    // One takes more pixels of an image, and one a place before other callers.
    unboundedParameters: ['ignore_eos', 'min_tokens', 'mm_processor_kwargs', 'priority'],
  },
  // srt/entrypoints/openai/protocol.py has `reasoning_content`, `chat_template_kwargs`
  // (sgl-project/sglang#20573) and only `audio_url` for audio.
  sglang: {
    ...LOCAL,
    reasoningField: 'reasoning_content',
    effortFields: NO_THINKING_IN_TEMPLATE,
    audioForm: 'url',
    toolChoice: 'named',
    parameters: [
      ...LOCAL.parameters,
      'ebnf',
      'no_stop_trim',
      'regex',
      'repetition_penalty',
      'separate_reasoning',
      'skip_special_tokens',
      'stop_regex',
      'stop_token_ids',
      'stream_reasoning',
    ],
    unboundedParameters: ['ignore_eos', 'min_tokens'],
  },
  // tools/server/server-common.cpp takes only text, image_url and input_audio parts. A named tool is
  // ignored (ggml-org/llama.cpp#26535). tools/server/README.md has `chat_template_kwargs` and the
  // counter. It goes on generating when the client of an answer that is not streamed disconnects.
  llamacpp: {
    ...LOCAL,
    streams: 'always',
    reasoningField: 'reasoning_content',
    effortFields: NO_THINKING_IN_TEMPLATE,
    inputCounter: { path: 'chat/completions/input_tokens', field: 'input_tokens' },
    parameters: [
      ...LOCAL.parameters,
      'cache_prompt',
      'dry_allowed_length',
      'dry_base',
      'dry_multiplier',
      'dry_penalty_last_n',
      'grammar',
      'mirostat',
      'mirostat_eta',
      'mirostat_tau',
      'reasoning_format',
      'repeat_last_n',
      'repeat_penalty',
      'samplers',
      'typical_p',
      'xtc_probability',
      'xtc_threshold',
    ],
  },
  // openai/openai.go has `reasoning`, refuses other efforts and images by URL, and takes only text
  // and image parts. Its templates take messages in any order. It ignores tool_choice
  // (ollama/ollama#17921).
  ollama: {
    ...LOCAL,
    userMessages: 'as-given',
    reasoningField: 'reasoning',
    efforts: LOW_TO_HIGH,
    toolChoice: 'ignored',
    imageForm: 'data',
    parameters: ['seed', 'stop'],
  },
  // "'response_format.type' must be 'json_schema' or 'text'" (lmstudio-ai/lmstudio-bug-tracker#189),
  // and images by URL are refused (#1120). lmstudio.ai/docs/developer/openai-compat has these
  // parameters. It takes no chat_template_kwargs.
  lmstudio: {
    ...LOCAL,
    schemaForm: 'json_schema',
    imageForm: 'data',
    parameters: [...GENERIC.parameters, 'repeat_penalty', 'top_k', 'ttl'],
  },
  // "The reasoning_content in the thinking mode must be passed back" on every assistant message
  // (NousResearch/hermes-agent PR#15228), with an empty text where there is none (SillyTavern
  // PR#5545). `reasoning_effort` refuses `none` (nextai-translator/nextai-translator#1879), and
  // `thinking` switches it off (api-docs.deepseek.com/guides/thinking_mode). "Thinking mode does not
  // support this tool_choice" (deepseek-ai/DeepSeek-V3#1376), and json_schema is "unavailable now"
  // (llm-exe/llm-exe#662).
  deepseek: {
    ...HOSTED,
    reasoningField: 'reasoning_content',
    reasoningAlways: true,
    effortFields: { none: THINKING_DISABLED, minimal: THINKING_DISABLED },
    forcedCallFields: THINKING_DISABLED,
    schemaForm: 'json_object',
    parameters: ['stop', 'thinking'],
  },
  // "tool_choice 'required' is incompatible with thinking enabled" (AstrBotDevs/AstrBot#7805), and
  // `thinking` switches it off (can1357/oh-my-pi#1077). "thinking is enabled but reasoning_content is
  // missing in assistant tool call message", also where it is empty (theopenco/llmgateway#2093).
  moonshot: {
    ...GENERIC,
    reasoningField: 'reasoning_content',
    reasoningAlways: 'calls',
    effortFields: { none: THINKING_DISABLED, minimal: THINKING_DISABLED },
    forcedCallFields: THINKING_DISABLED,
    parameters: ['seed', 'stop', 'thinking'],
  },
  // Calls without a signature are refused, but for this one (ai.google.dev/gemini-api/docs/
  // thought-signatures, FAQ). Only the first of parallel calls needs it.
  google: {
    ...GENERIC,
    foreignCallState: { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } },
  },
  // Unknown fields get 422 "Extra inputs are not permitted": stream_options.include_usage
  // (dnakov/anon-kode#53; usage comes anyway), max_completion_tokens
  // (editor-code-assistant/eca#231), reasoning_content (charmbracelet/crush#1590). Thoughts and
  // documents are parts (vercel/ai packages/mistral), and audio is bare text (Voxtral). "Tool call
  // id … must be a-z, A-Z, 0-9, with a length of 9" (karthink/gptel#1203); "Unexpected role 'user'
  // after role 'tool'" (BerriAI/litellm#17761). `reasoning_effort` is none or
  // high (vercel/ai PR#13688).
  mistral: {
    ...GENERIC,
    userMessages: 'as-given',
    afterOutputs: 'assistant',
    streamOptions: false,
    reasoningField: 'thinking-part',
    efforts: ['high'],
    callIds: 'nine-alphanumeric',
    toolChoice: 'named',
    fileForm: 'document-url',
    audioForm: 'text',
    optionalFields: ['reasoning_effort', 'prompt_cache_key'],
    parameters: ['prompt_mode', 'random_seed', 'safe_prompt', 'stop'],
  },
  // groq-python's types have `reasoning` on messages and no `strict` on functions. Unknown fields
  // are "unsupported" (vellum-ai/vellum-assistant PR#42635). Its tiers are auto, on_demand, flex and
  // performance (console.groq.com/docs/service-tiers).
  groq: {
    ...HOSTED,
    tokenLimitField: 'max_completion_tokens',
    reasoningField: 'reasoning',
    efforts: LOW_TO_HIGH,
    strictTools: false,
    serviceTiers: { default: 'on_demand', priority: 'performance' },
    fileForm: 'none',
    optionalFields: ['reasoning_effort', 'service_tier', 'user'],
    parameters: ['seed', 'stop'],
  },
  // The guide "PDF inputs" shows documents by URL. OpenAI's limit for ids applies too
  // (openclaw/openclaw PR#875). It does not look at an effort of none (Elumenotion/GuideAnts#114),
  // and `reasoning` switches thoughts off (dendrux/dendrux PR#45).
  openrouter: {
    ...HOSTED,
    reasoningField: 'reasoning',
    effortFields: { none: { reasoning: { enabled: false } } },
    callIds: 'up-to-40',
    fileForm: 'data-or-url',
    optionalFields: ['reasoning_effort', 'verbosity', 'user'],
    parameters: [
      ...HOSTED.parameters,
      'include_reasoning',
      'min_p',
      'repetition_penalty',
      'top_a',
      'top_k',
      'transforms',
      'usage',
    ],
    unboundedParameters: ['image_config', 'modalities', 'plugins', 'provider'],
  },
  // pi's compatibility table has neither `strict` nor `developer` for it.
  together: {
    ...GENERIC,
    reasoningField: 'as-sent',
    thinkTags: true,
    strictTools: false,
    toolChoice: 'named',
    fileForm: 'none',
    parameters: [...GENERIC.parameters, 'chat_template_kwargs', 'min_p', 'repetition_penalty', 'top_k'],
  },
} as const satisfies Record<OwnDialect['extends'], Dialect>;

export type DialectName = keyof typeof DIALECTS;

/** Returns the field in which plain thoughts of the model go back, until it has used another one. */
export function plainFieldOf(field: Dialect['reasoningField']): Exclude<Dialect['reasoningField'], 'as-used'> {
  return field === 'as-used' ? 'reasoning_content' : field;
}

export function isDialectName(name: string): name is DialectName {
  return Object.hasOwn(DIALECTS, name);
}

/** Returns a built-in dialect with the operator's differences. */
export function toDialect({ extends: base, ...differences }: OwnDialect): Dialect {
  return { ...DIALECTS[base], ...differences };
}
