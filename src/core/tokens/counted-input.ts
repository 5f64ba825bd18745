import type { ChatAssistantMessage, ChatMessage, ChatRequest } from '../chat.ts';
import { inputSizeOf, MEDIA_TOKENS } from './estimate.ts';

/** The parts of a chat request that become input tokens, for a tokenizer to count. */
export interface CountedInput {
  readonly texts: readonly string[];
  /**
   * Tokens that are not text: the frame around each message, and a constant for each image or file.
   */
  readonly otherTokens: number;
}

/**
 * The frame of OpenAI's models around a message, and before the answer. Other templates differ by a
 * few tokens.
 */
const TOKENS_AROUND_MESSAGE = 4;
const TOKENS_BEFORE_ANSWER = 3;

/**
 * Returns the texts of messages, tools and response schema. Most templates of open models write
 * tools and schema as JSON.
 */
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

/** Calls count by their name and arguments, because the model does not write their ids. */
function furtherTextsOf(message: ChatAssistantMessage): readonly string[] {
  const { tool_calls: calls = [], refusal, reasoning_content: content, reasoning } = message;
  return [
    ...[content, reasoning, refusal].filter((text) => text !== undefined),
    ...calls.flatMap((call) => [call.function.name, call.function.arguments]),
  ];
}
