/** What backends refuse inside of messages and tools, and how a request does without. */

import { isDeepStrictEqual } from 'node:util';
import type {
  ChatAssistantMessage,
  ChatMessage,
  ChatRequest,
  ChatTool,
  MessageState,
  ThoughtsField,
} from '../core/chat.ts';
import { isEncoded, type ChatBody } from '../core/encoded-chat.ts';
import { parseExact } from '../core/request/exact-integers.ts';
import { toPlainSchema } from '../core/request/plain-schema.ts';
import { withoutStrict } from '../core/request/request.ts';
import { FROM_OUTPUT, withAcknowledgements } from '../core/request/turns.ts';

export type Within = Pick<ChatRequest, 'messages' | 'tools'>;

interface RefusalWithin {
  readonly isNamedIn: (body: string) => boolean;
  /** Returns undefined if the request has nothing of it. */
  readonly valueOf: (request: Within) => unknown;
  readonly without: (request: ChatRequest) => ChatRequest;
}

/** The words with which backends say that a field must not be there. */
export const SAYS_UNKNOWN =
  /unrecognized|unknown|unsupported|unexpected|\bextra|\bnot (?:supported|permitted|allowed|available|recognized)|\bdoes(?:n't| not) (?:support|accept|allow)/i;

export const REFUSALS_WITHIN = {
  // "property 'messages.2.assistant.reasoning_content' is unsupported" of Cerebras (Kilo-Org/kilocode#10375),
  // "Extra inputs are not permitted" of Mistral behind LiteLLM (BerriAI/litellm#30835).
  'messages.reasoning_content': fieldOfMessages('reasoning_content'),
  // The word alone is in many errors.
  'messages.reasoning': fieldOfMessages(
    'reasoning',
    /(?:[.'"`]|\b(?:argument|field|parameter|property)\W+)reasoning(?!\w)/i,
  ),
  'messages.reasoning_details': fieldOfMessages('reasoning_details'),
  'messages.thinking_blocks': fieldOfMessages('thinking_blocks'),
  // Another account than the one that has sealed the thoughts (BerriAI/litellm#40364).
  'messages.reasoning_items': {
    ...fieldOfMessages('reasoning_items'),
    isNamedIn: (body) =>
      /\binvalid_encrypted_content\b/.test(body) || (/\breasoning_items\b/.test(body) && SAYS_UNKNOWN.test(body)),
  },
  'messages.reasoning_text': fieldOfMessages('reasoning_text'),
  'messages.reasoning_opaque': fieldOfMessages('reasoning_opaque'),
  'messages.extra_content': fieldOfMessages('extra_content'),
  'messages.provider_specific_fields': fieldOfMessages('provider_specific_fields'),
  // Kimi: "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2". It
  // refuses an empty text too (theopenco/llmgateway#2093). DeepSeek: "The `reasoning_content` in the thinking
  // mode must be passed back to the API" (NousResearch/hermes-agent PR#15228).
  'messages.no_reasoning_content': {
    isNamedIn: (body) =>
      /\breasoning_content\b[^.]{0,80}\b(?:missing|must be|required)\b|\b(?:missing|requires?)\b[^.]{0,40}\breasoning_content\b/i.test(
        body,
      ),
    valueOf: ({ messages }) => messages.some(lacksThoughts) || undefined,
    without: (request) => withMessages(request, (messages) => messages.map(withThoughts)),
  },
  // Devstral and Mistral Small on vLLM (mistralai/mistral-common#169).
  'messages.user_after_tool': {
    isNamedIn: (body) =>
      /\bUnexpected role \W*(?:user|system|developer)\W+after role \W*tool\b|\broles must alternate\b/i.test(body),
    valueOf: ({ messages }) => withAcknowledgements(messages).length > messages.length || undefined,
    without: (request) => withMessages(request, withAcknowledgements),
  },
  // Claude from 4.6 on (router-for-me/CLIProxyAPI#5279), Mistral, DeepSeek: what is behind the last message of the
  // user would be the beginning of the answer.
  'messages.last_answer': {
    isNamedIn: (body) =>
      /\bassistant message prefill\b|\bend with a user (?:message|role)\b|\blast (?:message|role)\b.{0,60}\buser\b/i.test(
        body,
      ),
    valueOf: ({ messages }) => messages.at(-1)?.role === 'assistant' || undefined,
    without: (request) => withMessages(request, (messages) => [...messages, GO_ON]),
  },
  // What a tool has shown to a model without vision, or a user to the model before it, comes again with every turn
  // (Wei-Shaw/sub2api#5519, farion1231/cc-switch#6697). Of a new image the caller has to hear.
  'messages.past_images': {
    isNamedIn: (body) => LACKS_VISION.test(body),
    valueOf: ({ messages }) => withoutPastImages(messages).some((message, at) => message !== messages[at]) || undefined,
    without: (request) => withMessages(request, withoutPastImages),
  },
  // Cerebras: "Tools with mixed values for 'strict' are not allowed" (RooCodeInc/Roo-Code#10334). The caller has to
  // hear what strict mode does not allow in a schema.
  'tools.strict': {
    isNamedIn: (body) =>
      /\bstrict(?:ness)?\b/i.test(body) &&
      (SAYS_UNKNOWN.test(body) || /\bsame\b/i.test(body)) &&
      !/\bschema\b/i.test(body),
    valueOf: ({ tools = [] }) => {
      const values = new Set(tools.map((tool) => String(tool.function.strict)));
      return values.has('true') || values.has('false') ? [...values].toSorted() : undefined;
    },
    without: ({ tools = [], ...rest }) => ({ ...rest, tools: tools.map(withoutStrict) }),
  },
  // OpenAI, Azure and Copilot (langchain-ai/open_deep_research#80). They do not limit descriptions in a schema.
  'tools.description': {
    isNamedIn: (body) => /\bfunction\.description\b.{0,20}\btoo long\b/.test(body),
    valueOf: ({ tools = [] }) => tools.some(isLong) || undefined,
    without: ({ tools = [], ...rest }) => ({ ...rest, tools: tools.map(withShortDescription) }),
  },
  // Gemini knows few keywords ("Unknown name \"$schema\" at 'tools[0].function_declarations[0].parameters'", AstrBotDevs/
  // AstrBot#7572), and Kimi no type beside alternatives (MoonshotAI/kimi-code#2661).
  'tools.parameters': {
    isNamedIn: (body) => /\bfunction_declarations\[\d+\]\.(?!name\b)|\bmoonshot flavored json schema\b/.test(body),
    valueOf: ({ tools = [] }) => !isDeepStrictEqual(tools, tools.map(withPlainSchema)) || undefined,
    without: ({ tools = [], ...rest }) => ({ ...rest, tools: tools.map(withPlainSchema) }),
  },
} as const satisfies Readonly<Record<string, RefusalWithin>>;

/** Returns the request with what is inside of it, also if it has been encoded. */
export function wholeOf(request: ChatBody): ChatRequest {
  if (!isEncoded(request)) return request;
  const { bulk, ...small } = request;
  const json = Buffer.concat([Buffer.from('{'), bulk.subarray(1)]);
  // It was written from a chat request here.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...small, ...(parseExact(json) as Within) };
}

/** A field of messages of the assistant and of their calls, of which no value is refused alone. */
function fieldOfMessages(
  field: keyof ThoughtsField | keyof MessageState,
  name = new RegExp(`\\b${field}\\b`),
): RefusalWithin {
  const has = (part: object): boolean => Object.hasOwn(part, field);
  const without = <Part extends object>(part: Part): Part => {
    const rest = { ...part };
    Reflect.deleteProperty(rest, field);
    return rest;
  };
  return {
    isNamedIn: (body) => name.test(body) && SAYS_UNKNOWN.test(body),
    valueOf: ({ messages }) =>
      messages.some((message) => has(message) || (message.role === 'assistant' && message.tool_calls?.some(has))) ||
      undefined,
    without: (request) =>
      withMessages(request, (messages) =>
        messages.map((message) => {
          if (message.role !== 'assistant') return message;
          const { tool_calls: calls } = message;
          return { ...without(message), ...(calls !== undefined && { tool_calls: calls.map(without) }) };
        }),
      ),
  };
}

function withMessages(
  request: ChatRequest,
  change: (messages: readonly ChatMessage[]) => readonly ChatMessage[],
): ChatRequest {
  return { ...request, messages: change(request.messages) };
}

function lacksThoughts(message: ChatMessage): message is ChatAssistantMessage {
  return message.role === 'assistant' && (message.reasoning_content ?? '') === '';
}

/** They are sought in this field even where the backend sends them in another (earendil-works/pi PR#987). */
function withThoughts(message: ChatMessage): ChatMessage {
  if (!lacksThoughts(message)) return message;
  const { reasoning = '', ...rest } = message;
  return { ...rest, reasoning_content: reasoning === '' ? NO_THOUGHTS : reasoning };
}

const GO_ON: ChatMessage = { role: 'user', content: 'Go on.' };

/** In UTF-16 code units. */
const MAX_DESCRIPTION = 1024;

function isLong({ function: { description = '' } }: ChatTool): boolean {
  return description.length > MAX_DESCRIPTION;
}

/** The schema has the whole description then. */
function withShortDescription(tool: ChatTool): ChatTool {
  if (!isLong(tool)) return tool;
  const { description = '', parameters, ...called } = tool.function;
  const beginning = `${description.slice(0, MAX_DESCRIPTION - 1).toWellFormed()}…`;
  return { ...tool, function: { ...called, description: beginning, parameters: { ...parameters, description } } };
}

function withPlainSchema(tool: ChatTool): ChatTool {
  const { parameters } = tool.function;
  return parameters === undefined
    ? tool
    : { ...tool, function: { ...tool.function, parameters: toPlainSchema(parameters) } };
}

/** Kimi refuses an empty text. */
const NO_THOUGHTS = ' ';

/**
 * The words of llama.cpp, Mistral and xAI; Ollama, LM Studio and OpenRouter; DeepSeek; vLLM; OpenAI; of
 * services in Chinese (farion1231/cc-switch#7156); and of those that take only a string (farion1231/cc-switch#7536).
 */
const LACKS_VISION = new RegExp(
  [
    String.raw`\b(?:images|image inputs?|vision) (?:is|are) not (?:supported|enabled)`,
    String.raw`\b(?:not|n't|that) support (?:images|image inputs?|vision)\b`,
    'unknown variant `?image_url',
    String.raw`\bat most 0 image|\bnot a multimodal model\b`,
    String.raw`\bimage_url is only supported by\b`,
    '不支持.{0,10}vision',
    String.raw`\.user\.content\.str\b`,
  ].join('|'),
  'i',
);

/** Models without vision may take text only as a string. */
function withoutPastImages(messages: readonly ChatMessage[]): ChatMessage[] {
  const lastAnswer = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.map((message, at) => {
    if (message.role !== 'user' || typeof message.content === 'string') return message;
    const [first] = message.content;
    const isPast = at < lastAnswer || (first?.type === 'text' && first.text.startsWith(FROM_OUTPUT));
    if (!isPast || !message.content.some(({ type }) => type === 'image_url')) return message;
    const parts = message.content.map((part) => (part.type === 'image_url' ? UNSEEN_IMAGE : part));
    const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
    return { ...message, content: texts.length === parts.length ? texts.join('\n') : parts };
  });
}

const UNSEEN_IMAGE = { type: 'text', text: '[Here is an image, which this model cannot see.]' } as const;
