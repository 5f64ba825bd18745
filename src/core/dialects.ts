/**
 * What differs between backends, as data: one entry per kind of backend, and nothing about them anywhere else. Each comment
 * names what shows it. An operator can add kinds of his own in the same terms (`DIALECTS_FILE`, schemas/dialects.json).
 */

import type { OwnDialect, ReasoningEffort } from '../contract/types.ts';

export interface Dialect {
  /** What `developer` and `system` text is sent as. */
  readonly systemRole: 'developer' | 'system' | 'as-given';
  /** Many chat templates take one system message, and only at the beginning: then all such text is merged there. */
  readonly systemPlace: 'merged-first' | 'in-place';
  /** Many chat templates raise an error where two messages of the user follow each other: then they are merged. */
  readonly userMessages: 'merged' | 'as-given';
  /** What has to stand between the outputs of tools and a message of the user. */
  readonly afterOutputs: 'nothing' | 'assistant';
  readonly tokenLimitField: 'max_tokens' | 'max_completion_tokens';
  /** Whether `stream_options` may be sent; a backend that refuses it all the same is asked again without. */
  readonly streamOptions: boolean;
  /**
   * Where an assistant message takes back the reasoning of that turn, unless a seal says that it came elsewhere; null where
   * there is no place for it.
   */
  readonly reasoningField: 'reasoning_content' | 'reasoning' | 'thinking-part' | null;
  /** Whether that field has to be there, empty, on an assistant message without reasoning too. */
  readonly reasoningAlways: boolean;
  /** The efforts that are known, "none" apart; another is rounded down. Null where any is passed on. */
  readonly efforts: readonly ReasoningEffort[] | null;
  /** The chat fields that say an effort where `reasoning_effort` does not know it; they are sent in its place. */
  readonly effortFields: EffortFields;
  /** The model's reasoning may come as a `<think>` block at the beginning of the text. */
  readonly thinkTags: boolean;
  /** Whether an assistant message has a `refusal` field; elsewhere a replayed refusal is sent as text. */
  readonly refusalField: boolean;
  /** What ids of tool calls have to look like. */
  readonly callIds: 'any' | 'up-to-40' | 'nine-alphanumeric';
  /** Whether a function may say that it is `strict`. */
  readonly strictTools: boolean;
  /** Whether images may be given by URL, or as data alone. */
  readonly imageForm: 'data-or-url' | 'data';
  /** How files are sent: as a `file` with its data, or its URL in that place; as a `document_url` of either; not at all. */
  readonly fileForm: 'data' | 'data-or-url' | 'document-url' | 'none';
  /** How audio is sent: as an object with data and format, as the data alone, or as a data: URL. */
  readonly audioForm: 'object' | 'text' | 'url';
  readonly optionalFields: readonly OptionalField[];
}

type EffortFields = NonNullable<OwnDialect['effortFields']>;

/** Chat fields that only some backends take. A request's value for a field outside this list is left out, as README says. */
type OptionalField = NonNullable<OwnDialect['optionalFields']>[number];

/** For a backend of which nothing is known: what the strictest of the templates behind such backends take. */
const GENERIC: Dialect = {
  systemRole: 'system',
  systemPlace: 'merged-first',
  // "Conversation roles must alternate": the templates of Gemma and Mistral among others (charmbracelet/crush#279).
  userMessages: 'merged',
  afterOutputs: 'nothing',
  tokenLimitField: 'max_tokens',
  streamOptions: true,
  // Moonshot and DeepSeek's models on other hosts answer 400 without it (continuedev/continue#11600), z.ai asks for it
  // (docs.z.ai, thinking mode). A backend that never sent thoughts is sent none.
  reasoningField: 'reasoning_content',
  reasoningAlways: false,
  efforts: null,
  effortFields: {},
  thinkTags: false,
  refusalField: false,
  callIds: 'any',
  strictTools: true,
  imageForm: 'data-or-url',
  fileForm: 'data',
  audioForm: 'object',
  optionalFields: ['reasoning_effort', 'user'],
};

/** Services with a template of their own, which take any order that makes sense. */
const HOSTED: Dialect = { ...GENERIC, systemPlace: 'in-place', userMessages: 'as-given', reasoningField: null };

/** Servers which fill the template of whatever model they were given. Their parts of a message: text, images, audio. */
const LOCAL: Dialect = { ...GENERIC, thinkTags: true, fileForm: 'none' };

const OPENAI: Dialect = {
  ...HOSTED,
  systemRole: 'as-given',
  tokenLimitField: 'max_completion_tokens',
  refusalField: true,
  // "Expected a string with maximum length 40" (microsoft/autogen#6377; Azure: Portkey-AI/gateway#1062). Files by URL are for
  // Responses alone (the guide "File inputs").
  callIds: 'up-to-40',
  optionalFields: ['reasoning_effort', 'verbosity', 'service_tier', 'prompt_cache_key', 'safety_identifier', 'user'],
};

const LOW_TO_HIGH: readonly ReasoningEffort[] = ['low', 'medium', 'high'];

const THINKING_DISABLED = { thinking: { type: 'disabled' } } as const;

export const DIALECTS = {
  generic: GENERIC,
  openai: OPENAI,
  // "Unrecognized request argument supplied: prompt_cache_key", for models that are not OpenAI's (vectorize-io/hindsight#3518,
  // MoonshotAI/kimi-code#2611).
  azure: { ...OPENAI, optionalFields: ['reasoning_effort', 'verbosity', 'user'] },
  // vllm/entrypoints/chat_utils.py reads `reasoning` and raises at any part that is not text, image, audio or video;
  // chat_completion/protocol.py has the three efforts (and "none" since).
  vllm: { ...LOCAL, reasoningField: 'reasoning', efforts: LOW_TO_HIGH },
  // srt/entrypoints/openai/protocol.py: `reasoning_content`, all efforts, and `audio_url` as the only part for audio.
  sglang: { ...LOCAL, reasoningField: 'reasoning_content', audioForm: 'url' },
  // tools/server/server-common.cpp: parts are text, image_url and input_audio, and fields not known there are ignored.
  llamacpp: { ...LOCAL, reasoningField: 'reasoning_content' },
  // openai/openai.go: `reasoning`, four efforts and an error for others, no images by URL, no parts but text and images. Its
  // templates take messages in any order.
  ollama: {
    ...LOCAL,
    userMessages: 'as-given',
    reasoningField: 'reasoning',
    efforts: LOW_TO_HIGH,
    imageForm: 'data',
  },
  // "The reasoning_content in the thinking mode must be passed back", on every assistant message (NousResearch/hermes-agent
  // PR#15228; empty where there is none: SillyTavern PR#5545, and pi's requiresReasoningContentOnAssistantMessages).
  // "reasoning_effort: unknown variant `none`, expected one of `high`, `low`, `medium`, `max`, `xhigh`"
  // (nextai-translator/nextai-translator#1879): the switch is `thinking` (api-docs.deepseek.com/guides/thinking_mode).
  deepseek: {
    ...HOSTED,
    reasoningField: 'reasoning_content',
    reasoningAlways: true,
    effortFields: { none: THINKING_DISABLED, minimal: THINKING_DISABLED },
  },
  // Answers 422 "Extra inputs are not permitted" to any field it does not know: stream_options.include_usage
  // (dnakov/anon-kode#53; usage comes all the same), max_completion_tokens (editor-code-assistant/eca#231), reasoning_content
  // (charmbracelet/crush#1590). Thoughts are parts of the content, documents have a form of their own (vercel/ai
  // packages/mistral), audio is bare text (Voxtral). "Tool call id … must be a-z, A-Z, 0-9, with a length of 9"
  // (karthink/gptel#1203); "Unexpected role 'user' after role 'tool'" (BerriAI/litellm#17761).
  mistral: {
    ...GENERIC,
    userMessages: 'as-given',
    afterOutputs: 'assistant',
    streamOptions: false,
    reasoningField: 'thinking-part',
    callIds: 'nine-alphanumeric',
    fileForm: 'document-url',
    audioForm: 'text',
    optionalFields: ['prompt_cache_key'],
  },
  // groq-python's types: `reasoning` on assistant messages, no `strict` on functions. What it does not know is "unsupported",
  // such as `reasoning_content` (vellum-ai/vellum-assistant PR#42635).
  groq: {
    ...HOSTED,
    tokenLimitField: 'max_completion_tokens',
    reasoningField: 'reasoning',
    efforts: LOW_TO_HIGH,
    strictTools: false,
    fileForm: 'none',
    optionalFields: ['reasoning_effort', 'service_tier', 'user'],
  },
  // Documents by URL: the guide "PDF inputs". OpenAI's limit for ids comes through (openclaw/openclaw PR#875).
  openrouter: {
    ...HOSTED,
    reasoningField: 'reasoning',
    callIds: 'up-to-40',
    fileForm: 'data-or-url',
    optionalFields: ['reasoning_effort', 'verbosity', 'user'],
  },
  // No `strict` and no `developer` (pi's compatibility table).
  together: { ...GENERIC, reasoningField: null, thinkTags: true, strictTools: false, fileForm: 'none' },
} as const satisfies Record<OwnDialect['extends'], Dialect>;

export type DialectName = keyof typeof DIALECTS;

/** Whether this is the name of a built-in kind of backend. */
export function isDialectName(name: string): name is DialectName {
  return Object.hasOwn(DIALECTS, name);
}

/** A dialect of an operator: a built-in one, and what differs from it. */
export function toDialect({ extends: base, ...differences }: OwnDialect): Dialect {
  return { ...DIALECTS[base], ...differences };
}
