import type { ChatMessage, ToolCallLLMMessageOptions } from '@llamaindex/core/llms';
import { tool } from '@llamaindex/core/tools';
import { extractText } from '@llamaindex/core/utils';
import { OpenAIResponses } from '@llamaindex/openai';
import { API_KEY } from '../strict-backend.ts';
import { DESCRIPTION, PLACE, PROMPT, rainIn, toolsOf, type Asked } from '../turns/scenarios.ts';

export async function withLlamaIndex({ baseURL, model, ...asked }: Asked): Promise<string> {
  const llm = new OpenAIResponses({ model, baseURL, apiKey: API_KEY, maxRetries: 0 });
  const tools = toolsOf(asked).map((name) =>
    tool({ name, description: DESCRIPTION, parameters: PLACE, execute: ({ city }) => rainIn(city) }),
  );
  const messages: ChatMessage<ToolCallLLMMessageOptions>[] = [{ role: 'user', content: PROMPT }];
  for (;;) {
    const { newMessages, toolCalls } = await llm.exec({ messages, tools });
    messages.push(...newMessages);
    if (toolCalls.length === 0) return extractText(messages.at(-1)?.content ?? '');
  }
}
