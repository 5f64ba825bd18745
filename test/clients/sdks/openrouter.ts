import { OpenRouter, tool } from '@openrouter/agent';
import { z } from 'zod';
import { API_KEY } from '../strict-backend.ts';
import { DESCRIPTION, PLACE, PROMPT, rainIn, toolsOf, type Asked } from '../turns/scenarios.ts';

const FORMAT = { type: 'json_schema' as const, name: 'place', strict: true, schema: z.toJSONSchema(PLACE) };

export async function withOpenRouter({ baseURL, model, ...asked }: Asked): Promise<string> {
  const client = new OpenRouter({ apiKey: API_KEY, serverURL: baseURL, retryConfig: { strategy: 'none' } });
  const tools = toolsOf(asked).map((name) =>
    tool({ name, description: DESCRIPTION, inputSchema: PLACE, execute: ({ city }) => rainIn(city) }),
  );
  const wanted = asked.isStructured ? { text: { format: FORMAT } } : { tools };
  return client.callModel({ model, input: PROMPT, ...wanted }).getText();
}
