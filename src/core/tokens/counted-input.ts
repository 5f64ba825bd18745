import type { ChatAssistantMessage, ChatMessage, ChatRequest } from '../chat.ts';
import { inputSizeOf } from './input-size.ts';

export interface CountedInput {
  readonly texts: readonly string[];
  readonly otherTokens: number;
}

/** These are the frames of OpenAI's models. Other templates differ by a few tokens. */
const TOKENS_AROUND_MESSAGE = 4;
const TOKENS_BEFORE_ANSWER = 3;

/** Returns the texts to count. Most templates write tools and response schema as JSON. */
export function countedInputOf(
  chat: Pick<ChatRequest, 'messages' | 'tools' | 'response_format'>,
  { mediaTokens } = inputSizeOf(chat),
): CountedInput {
  const { messages, tools = [], response_format: format } = chat;
  return {
    texts: [
      ...messages.flatMap(textsOf),
      ...tools.map((tool) => JSON.stringify(tool.function)),
      ...(format === undefined ? [] : [JSON.stringify(format)]),
    ],
    otherTokens: messages.length * TOKENS_AROUND_MESSAGE + TOKENS_BEFORE_ANSWER + mediaTokens,
  };
}

function textsOf(message: ChatMessage): readonly string[] {
  const texts = wordsOf(message.content);
  return message.role === 'assistant' ? [...texts, ...furtherTextsOf(message)] : texts;
}

function wordsOf(content: ChatMessage['content']): readonly string[] {
  if (content === null) return [];
  if (typeof content === 'string') return [content];
  return content.flatMap((part) => {
    if (part.type === 'text') return [part.text];
    return part.type === 'thinking' ? part.thinking.map(({ text }) => text) : [];
  });
}

/** Calls count without their ids, because the model does not write them. */
function furtherTextsOf(message: ChatAssistantMessage): readonly string[] {
  const { tool_calls: calls = [], refusal, reasoning_content: content, reasoning, reasoning_text } = message;
  return [
    ...[content, reasoning, reasoning_text, refusal].filter((text) => text !== undefined),
    ...calls.flatMap((call) => [call.function.name, call.function.arguments]),
  ];
}
