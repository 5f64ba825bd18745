import { chat, toolDefinition } from '@tanstack/ai';
import { createOpenaiChat } from '@tanstack/ai-openai';
import { API_KEY } from '../strict-backend.ts';
import { DESCRIPTION, PLACE, PROMPT, rainIn, toolsOf, type Asked } from '../turns/scenarios.ts';

interface OpenAi {
  open(model: string, apiKey: string, options: object): ReturnType<typeof createOpenaiChat>;
}

/** Its types know the models of OpenAI alone. */
const OPENAI: OpenAi = { open: createOpenaiChat };

export async function withTanStack({ baseURL, model, ...asked }: Asked): Promise<string> {
  const adapter = OPENAI.open(model, API_KEY, { baseURL, maxRetries: 0 });
  const request = { adapter, messages: [{ role: 'user' as const, content: PROMPT }] };
  if (asked.isStructured) return JSON.stringify(await chat({ ...request, outputSchema: PLACE }));
  const tools = toolsOf(asked).map((name) =>
    toolDefinition({ name, description: DESCRIPTION, inputSchema: PLACE }).server(({ city }) => rainIn(city)),
  );
  return chat({ ...request, tools, stream: false });
}
