import { igniteModel, logger, Message, Plugin, type LlmCompletionOpts, type PluginParameter } from 'multi-llm-ts';
import { z } from 'zod/v3';
import { API_KEY } from '../strict-backend.ts';
import { DESCRIPTION, PLACE, PROMPT, rainIn, type Asked } from '../turns/scenarios.ts';

class Weather extends Plugin {
  override isEnabled = (): boolean => true;
  override getName = (): string => 'get_weather';
  override getDescription = (): string => DESCRIPTION;
  override getRunningDescription = (): string => 'Looking';
  override getParameters = (): PluginParameter[] => [
    { name: 'city', type: 'string', description: 'its name', required: true },
  ];
  override execute = (_: unknown, place: unknown): Promise<string> => Promise.resolve(rainIn(PLACE.parse(place).city));
}

/** Its types are of another zod. */
const STRUCTURE = {
  name: 'place',
  structure: z.object({ city: z.string() }),
} as unknown as Required<LlmCompletionOpts>['structuredOutput'];

export async function withMultiLlm({ baseURL, model, isStructured }: Asked, stream: boolean): Promise<string> {
  logger.disable();
  const llm = igniteModel('openai', model, { baseURL, apiKey: API_KEY });
  if (!isStructured) llm.addPlugin(new Weather());
  const options = { useResponsesApi: true, ...(isStructured && { structuredOutput: STRUCTURE }) };
  const thread = [new Message('user', PROMPT)];
  if (!stream) return (await llm.complete(thread, options)).content ?? '';
  let text = '';
  for await (const chunk of llm.generate(thread, options)) if (chunk.type === 'content') text += chunk.text;
  return text;
}
