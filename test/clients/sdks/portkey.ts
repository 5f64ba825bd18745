import { Portkey } from 'portkey-ai';
import { z } from 'zod';
import { API_KEY } from '../strict-backend.ts';
import { DESCRIPTION, PLACE, PROMPT, rainIn, toolsOf, type Asked } from '../turns/scenarios.ts';

type Events = Extract<Awaited<ReturnType<Portkey['responses']['create']>>, AsyncIterable<unknown>>;
type Input = Exclude<Parameters<Portkey['responses']['create']>[0]['input'], string | undefined>;

const PARAMETERS = z.toJSONSchema(PLACE);
const FORMAT = { type: 'json_schema' as const, name: 'place', strict: true, schema: PARAMETERS };

export async function withPortkey({ baseURL, model, ...asked }: Asked, stream: boolean): Promise<string> {
  const client = new Portkey({ baseURL, apiKey: API_KEY });
  const tools = toolsOf(asked).map((name) => ({
    type: 'function' as const,
    name,
    description: DESCRIPTION,
    strict: true,
    parameters: PARAMETERS,
  }));
  const input: Input = [{ role: 'user', content: PROMPT }];
  for (;;) {
    const request = { model, input, ...(asked.isStructured ? { text: { format: FORMAT } } : { tools }) };
    const { output, output_text: text } = stream
      ? await lastOf(await client.responses.create({ ...request, stream }))
      : await client.responses.create({ ...request, stream });
    const calls = output.filter((item) => item.type === 'function_call');
    if (calls.length === 0) return text;
    input.push(...output);
    for (const { call_id, arguments: given } of calls) {
      const { city } = PLACE.parse(JSON.parse(given));
      input.push({ type: 'function_call_output', call_id, output: rainIn(city) });
    }
  }
}

async function lastOf(events: Events) {
  for await (const event of events) if (event.type === 'response.completed') return event.response;
  throw new Error('the response was not completed');
}
