import type { ChatAssistantMessage, ChatMessage, ChatRequest } from '../chat.ts';
import { inputSizeOf, MEDIA_TOKENS } from './estimate.ts';

/** What of a chat request becomes input tokens, for a tokenizer to count. */
export interface CountedInput {
  readonly texts: readonly string[];
  /** Tokens of what is no text: the frame around each message, and images and files at the constant of estimates. */
  readonly otherTokens: number;
}

/** What OpenAI's models have around a message for its role, and before their answer. Templates of others differ by a few. */
const TOKENS_AROUND_MESSAGE = 4;
const TOKENS_BEFORE_ANSWER = 3;

/** Messages, tools and the schema of the answer. Of tools and schema the JSON is what most templates of open models write. */
export function countedInputOf(chat: Pick<ChatRequest, 'messages' | 'tools' | 'response_format'>): CountedInput {
  const { messages, tools = [], response_format: format } = chat;
  return {
    texts: [
      ...messages.flatMap(textsOf),
      ...tools.map((tool) => JSON.stringify(tool.function)),
      ...(format === undefined ? [] : [JSON.stringify(format)]),
    ],
    otherTokens:
      messages.length * TOKENS_AROUND_MESSAGE + TOKENS_BEFORE_ANSWER + inputSizeOf(chat, 0).media * MEDIA_TOKENS,
  };
}

function textsOf(message: ChatMessage): readonly string[] {
  const said = wordsOf(message.content);
  return message.role === 'assistant' ? [...said, ...furtherTextsOf(message)] : said;
}

function wordsOf(content: ChatMessage['content']): readonly string[] {
  if (content === null) return [];
  if (typeof content === 'string') return [content];
  return content.flatMap((part) => {
    if (part.type === 'text') return [part.text];
    return part.type === 'thinking' ? part.thinking.map(({ text }) => text) : [];
  });
}

/** Calls by what a model writes of them: their ids are for programs. */
function furtherTextsOf(message: ChatAssistantMessage): readonly string[] {
  const { tool_calls: calls = [], refusal, reasoning_content: content, reasoning } = message;
  return [
    ...[content, reasoning, refusal].filter((text) => text !== undefined),
    ...calls.flatMap((call) => [call.function.name, call.function.arguments]),
  ];
}
