import { createOpenAI } from '@ai-sdk/openai';
import { Mastra } from '@mastra/core';
import { Agent } from '@mastra/core/agent';
import type { MastraModelConfig } from '@mastra/core/llm';
import { createTool } from '@mastra/core/tools';
import { API_KEY } from '../strict-backend.ts';
import { DESCRIPTION, PLACE, PROMPT, rainIn, toolsOf, type Asked } from '../turns/scenarios.ts';

const OPENAI = { store: false, include: ['reasoning.encrypted_content' as const] };

export async function withMastra({ baseURL, model, ...asked }: Asked, stream: boolean): Promise<string> {
  const tools = toolsOf(asked).map((id) =>
    createTool({
      id,
      description: DESCRIPTION,
      inputSchema: PLACE,
      execute: ({ city }) => Promise.resolve(rainIn(city)),
    }),
  );
  const clerk = new Agent({
    id: 'clerk',
    name: 'Clerk',
    instructions: 'Be brief.',
    // Its types want a stream of what answers without one.
    model: createOpenAI({ baseURL, apiKey: API_KEY }).responses(model) as MastraModelConfig,
    maxRetries: 0,
    ...(!asked.isStructured && { tools: Object.fromEntries(tools.map((tool) => [tool.id, tool])) }),
  });
  const agent = new Mastra({ agents: { clerk }, logger: false }).getAgent('clerk');
  const options = { providerOptions: { openai: OPENAI } };
  if (asked.isStructured) {
    const { object } = await agent.generate(PROMPT, { ...options, structuredOutput: { schema: PLACE } });
    return JSON.stringify(object);
  }
  const { text } = stream ? await agent.stream(PROMPT, options) : await agent.generate(PROMPT, options);
  return text;
}
