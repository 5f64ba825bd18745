import { Agent, tool } from '@strands-agents/sdk';
import { OpenAIModel } from '@strands-agents/sdk/models/openai';
import { API_KEY } from '../strict-backend.ts';
import { DESCRIPTION, PLACE, PROMPT, rainIn, toolsOf, type Asked } from '../turns/scenarios.ts';

export async function withStrands({ baseURL, model: modelId, ...asked }: Asked): Promise<string> {
  const model = new OpenAIModel({ modelId, apiKey: API_KEY, clientConfig: { baseURL, maxRetries: 0 } });
  const tools = toolsOf(asked).map((name) =>
    tool({ name, description: DESCRIPTION, inputSchema: PLACE, callback: ({ city }) => rainIn(city) }),
  );
  const agent = new Agent({
    model,
    printer: false,
    ...(asked.isStructured ? { structuredOutputSchema: PLACE } : { tools }),
  });
  const { lastMessage, structuredOutput } = await agent.invoke(PROMPT);
  if (asked.isStructured) return JSON.stringify(structuredOutput);
  return lastMessage.content.map((block) => (block.type === 'textBlock' ? block.text : '')).join('');
}
