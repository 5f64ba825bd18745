import { tool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { createDeepAgent } from 'deepagents';
import { createAgent, providerStrategy } from 'langchain';
import { API_KEY } from '../strict-backend.ts';
import { DESCRIPTION, PLACE, PROMPT, rainIn, toolsOf, type Asked } from '../turns/scenarios.ts';

const MESSAGES = [{ role: 'user', content: PROMPT }];

export async function withLangGraph(asked: Asked, stream: boolean): Promise<string> {
  const { messages } = await createAgent(optionsFor(asked, stream)).invoke({ messages: MESSAGES });
  return messages.at(-1)?.text ?? '';
}

export async function withDeepAgents(asked: Asked, stream: boolean): Promise<string> {
  const { messages } = await createDeepAgent(optionsFor(asked, stream)).invoke({ messages: MESSAGES });
  return messages.at(-1)?.text ?? '';
}

function optionsFor({ baseURL, model, ...asked }: Asked, streaming: boolean) {
  return {
    model: new ChatOpenAI({
      model,
      streaming,
      apiKey: API_KEY,
      useResponsesApi: true,
      maxRetries: 0,
      configuration: { baseURL },
    }),
    tools: (asked.isStructured ? [] : toolsOf(asked)).map((name) =>
      tool(({ city }: { city: string }) => rainIn(city), { name, description: DESCRIPTION, schema: PLACE }),
    ),
    ...(asked.isStructured && { responseFormat: providerStrategy(PLACE) }),
  };
}
