import { igniteModel, logger, Message, Plugin, type PluginParameter } from 'multi-llm-ts';
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

export async function withMultiLlm({ baseURL, model }: Asked, stream: boolean): Promise<string> {
  logger.disable();
  const llm = igniteModel('openai', model, { baseURL, apiKey: API_KEY });
  llm.addPlugin(new Weather());
  const options = { useResponsesApi: true };
  const thread = [new Message('user', PROMPT)];
  if (!stream) return (await llm.complete(thread, options)).content ?? '';
  let text = '';
  for await (const chunk of llm.generate(thread, options)) if (chunk.type === 'content') text += chunk.text;
  return text;
}
