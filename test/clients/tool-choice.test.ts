import { createOpenAI } from '@ai-sdk/openai';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, tool, type LanguageModel } from 'ai';
import { expect } from 'chai';
import { z } from 'zod';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { LOCAL_SERVERS, playLocalServer } from '../support/local-servers.ts';
import { API_KEY } from './strict-backend.ts';

const MODEL = 'test-model';
const ANSWER = { city: 'Bonn' };
const schema = z.object({ city: z.string() });

/** Each forces a tool and returns its input. */
const CLIENTS: Readonly<Record<string, (baseURL: string) => Promise<unknown>>> = {
  'structured output of LangChain': (baseURL) =>
    new ChatOpenAI({
      model: MODEL,
      apiKey: API_KEY,
      useResponsesApi: true,
      maxRetries: 0,
      configuration: { baseURL },
    })
      .withStructuredOutput(schema, { name: 'place', method: 'functionCalling' })
      .invoke('Where?'),
  'a forced tool of @ai-sdk/openai': (baseURL) =>
    withAiSdk(createOpenAI({ baseURL, apiKey: API_KEY }).responses(MODEL)),
  'a forced tool of @ai-sdk/open-responses': (baseURL) =>
    withAiSdk(createOpenResponses({ name: 'gateway', url: `${baseURL}/responses`, apiKey: API_KEY })(MODEL)),
};

describe('a tool that a client forces', () => {
  let backend: ScriptedBackend;
  let gateway: TestGateway;

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  for (const [server, played] of Object.entries(LOCAL_SERVERS)) {
    for (const [name, run] of Object.entries(CLIENTS)) {
      it(`${name} works in front of ${server}`, async () => {
        backend = await startScriptedBackend();
        backend.always(playLocalServer(played, JSON.stringify(ANSWER)));
        gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: played.dialect });
        expect(await run(`${gateway.url}/api/v1`)).to.deep.equal(ANSWER);
      });
    }
  }
});

async function withAiSdk(model: LanguageModel): Promise<unknown> {
  const { toolCalls } = await generateText({
    model,
    maxRetries: 0,
    prompt: 'Where?',
    tools: {
      other: tool({ description: 'Is not wanted.', inputSchema: schema }),
      place: tool({ description: 'Names a place.', inputSchema: schema }),
    },
    toolChoice: { type: 'tool', toolName: 'place' },
  });
  return toolCalls.find(({ toolName }) => toolName === 'place')?.input;
}
