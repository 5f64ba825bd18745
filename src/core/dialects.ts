/**
 * All differences between backends, as data: one entry per kind of backend. Each comment names the
 * source that shows the difference. An operator can add entries in the same format
 * (`DIALECTS_FILE`, schemas/dialects.json).
 */

import type { OwnDialect, ReasoningEffort } from '../contract/types.ts';

export interface Dialect {
  /** The role under which `developer` and `system` text is sent. */
  readonly systemRole: 'developer' | 'system' | 'as-given';
  /**
   * Many chat templates take only one system message, at the beginning. `merged-first` merges all
   * such text there.
   */
  readonly systemPlace: 'merged-first' | 'in-place';
  /**
   * Many chat templates raise an error when two user messages follow each other. `merged` makes
   * them one.
   */
  readonly userMessages: 'merged' | 'as-given';
  /** The message that must come between the outputs of tools and a user message. */
  readonly afterOutputs: 'nothing' | 'assistant';
  readonly tokenLimitField: 'max_tokens' | 'max_completion_tokens';
  /** Whether `stream_options` is sent. A backend that refuses it is asked again without it. */
  readonly streamOptions: boolean;
  /**
   * The field of an assistant message that takes the reasoning of its turn back. A sealed state can
   * name another field. Null when the backend has no such field.
   */
  readonly reasoningField: 'reasoning_content' | 'reasoning' | 'thinking-part' | null;
  /**
   * Whether an assistant message without reasoning must have that field too, with an empty text.
   */
  readonly reasoningAlways: boolean;
  /**
   * The efforts that the backend knows, apart from "none". Others are rounded down. Null when every
   * effort is passed on.
   */
  readonly efforts: readonly ReasoningEffort[] | null;
  /** Chat fields that express an effort which `reasoning_effort` does not know. They replace it. */
  readonly effortFields: EffortFields;
  /** Whether the model's reasoning may come as a `<think>` block at the beginning of the text. */
  readonly thinkTags: boolean;
  /**
   * Whether an assistant message has a `refusal` field. Otherwise a replayed refusal is sent as
   * text.
   */
  readonly refusalField: boolean;
  readonly callIds: 'any' | 'up-to-40' | 'nine-alphanumeric';
  readonly strictTools: boolean;
  readonly imageForm: 'data-or-url' | 'data';
  /**
   * How files are sent: as a `file` with data, as a `file` with data or a URL, as a `document_url`
   * with either, or not at all.
   */
  readonly fileForm: 'data' | 'data-or-url' | 'document-url' | 'none';
  /** How audio is sent: as an object with data and format, as the data alone, or as a data: URL. */
  readonly audioForm: 'object' | 'text' | 'url';
  readonly optionalFields: readonly OptionalField[];
}

type EffortFields = NonNullable<OwnDialect['effortFields']>;

/**
 * Chat fields that only some backends take. A field of the request that is not in this list is left
 * out.
 */
type OptionalField = NonNullable<OwnDialect['optionalFields']>[number];

/** For an unknown backend: follows the strictest chat templates. */
const GENERIC: Dialect = {
  systemRole: 'system',
  systemPlace: 'merged-first',
  // "Conversation roles must alternate": the templates of Gemma and Mistral among others
  // (charmbracelet/crush#279).
  userMessages: 'merged',
  afterOutputs: 'nothing',
  tokenLimitField: 'max_tokens',
  streamOptions: true,
  // Moonshot, and DeepSeek's models on other hosts, answer 400 without it
  // (continuedev/continue#11600); z.ai asks for it (docs.z.ai, thinking mode). A backend that never
  // sent reasoning gets none.
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

/** Services with chat templates of their own, which take messages in any sensible order. */
const HOSTED: Dialect = { ...GENERIC, systemPlace: 'in-place', userMessages: 'as-given', reasoningField: null };

/** Servers that run the chat template of any model. They take text, images and audio. */
const LOCAL: Dialect = { ...GENERIC, thinkTags: true, fileForm: 'none' };

const OPENAI: Dialect = {
  ...HOSTED,
  systemRole: 'as-given',
  tokenLimitField: 'max_completion_tokens',
  refusalField: true,
  // "Expected a string with maximum length 40" (microsoft/autogen#6377; Azure:
  // Portkey-AI/gateway#1062). OpenAI takes files by URL only in the Responses API (the guide "File
  // inputs").
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
  azure: { ...OPENAI, optionalFields: ['reasoning_effort', 'verbosity', 'user'] },
  // vllm/entrypoints/chat_utils.py reads `reasoning` and raises an error for any part that is not
  // text, image, audio or video. chat_completion/protocol.py has the three efforts (and later
  // "none").
  vllm: { ...LOCAL, reasoningField: 'reasoning', efforts: LOW_TO_HIGH },
  // srt/entrypoints/openai/protocol.py has `reasoning_content`, all efforts, and `audio_url` as the
  // only audio part.
  sglang: { ...LOCAL, reasoningField: 'reasoning_content', audioForm: 'url' },
  // tools/server/server-common.cpp takes text, image_url and input_audio parts, and ignores unknown
  // fields.
  llamacpp: { ...LOCAL, reasoningField: 'reasoning_content' },
  // openai/openai.go has `reasoning`, four efforts and an error for others. It takes no images by
  // URL, and only text and image parts. Its templates take messages in any order.
  ollama: {
    ...LOCAL,
    userMessages: 'as-given',
    reasoningField: 'reasoning',
    efforts: LOW_TO_HIGH,
    imageForm: 'data',
  },
  // "The reasoning_content in the thinking mode must be passed back", on every assistant message
  // (NousResearch/hermes-agent PR#15228). It is empty where there is none (SillyTavern PR#5545, and
  // pi's requiresReasoningContentOnAssistantMessages). "reasoning_effort: unknown variant `none`,
  // expected one of `high`, `low`, `medium`, `max`, `xhigh`"
  // (nextai-translator/nextai-translator#1879): `thinking` switches it off
  // (api-docs.deepseek.com/guides/thinking_mode).
  deepseek: {
    ...HOSTED,
    reasoningField: 'reasoning_content',
    reasoningAlways: true,
    effortFields: { none: THINKING_DISABLED, minimal: THINKING_DISABLED },
  },
  // Answers 422 "Extra inputs are not permitted" to any unknown field: stream_options.include_usage
  // (dnakov/anon-kode#53; usage comes anyway), max_completion_tokens
  // (editor-code-assistant/eca#231), reasoning_content (charmbracelet/crush#1590). Thoughts are
  // parts of the content, documents have their own part (vercel/ai packages/mistral), and audio is
  // bare text (Voxtral). "Tool call id … must be a-z, A-Z, 0-9, with a length of 9"
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
  // groq-python's types have `reasoning` on assistant messages and no `strict` on functions.
  // Unknown fields such as `reasoning_content` are "unsupported" (vellum-ai/vellum-assistant
  // PR#42635).
  groq: {
    ...HOSTED,
    tokenLimitField: 'max_completion_tokens',
    reasoningField: 'reasoning',
    efforts: LOW_TO_HIGH,
    strictTools: false,
    fileForm: 'none',
    optionalFields: ['reasoning_effort', 'service_tier', 'user'],
  },
  // The guide "PDF inputs" shows documents by URL. OpenAI's limit for ids applies too
  // (openclaw/openclaw PR#875).
  openrouter: {
    ...HOSTED,
    reasoningField: 'reasoning',
    callIds: 'up-to-40',
    fileForm: 'data-or-url',
    optionalFields: ['reasoning_effort', 'verbosity', 'user'],
  },
  // pi's compatibility table has neither `strict` nor `developer` for it.
  together: { ...GENERIC, reasoningField: null, thinkTags: true, strictTools: false, fileForm: 'none' },
} as const satisfies Record<OwnDialect['extends'], Dialect>;

export type DialectName = keyof typeof DIALECTS;

/** Returns whether this is the name of a built-in kind of backend. */
export function isDialectName(name: string): name is DialectName {
  return Object.hasOwn(DIALECTS, name);
}

/** The dialect of an operator: a built-in one with the operator's differences. */
export function toDialect({ extends: base, ...differences }: OwnDialect): Dialect {
  return { ...DIALECTS[base], ...differences };
}
