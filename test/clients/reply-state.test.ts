import { AIMessageChunk, HumanMessage, ToolMessage, type AIMessage, type BaseMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIProvider, Runner, tool as agentTool } from '@openai/agents';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { generateText, isStepCount, streamText, tool, type LanguageModel } from 'ai';
import { expect } from 'chai';
import { z } from 'zod';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { playState, STATE_BACKENDS } from '../support/state-backends.ts';
import { prepareCodex } from './codex.ts';
import { API_KEY } from './strict-backend.ts';

const MODEL = 'test-model';
const name = 'get_weather';
const description = 'The weather of a city.';
const parameters = z.object({ city: z.string() });
const execute = ({ city }: { city: string }): string => `Rain in ${city}`;

/** Each runs the tools that the backend asks for and returns the text at the end. */
type Client = (baseURL: string) => Promise<string | undefined>;

const CLIENTS: Readonly<Record<string, Client>> = {
  LangChain: (baseURL) => withLangChain(baseURL, { stream: false, zdrEnabled: false }),
  'LangChain, streamed': (baseURL) => withLangChain(baseURL, { stream: true, zdrEnabled: false }),
  'LangChain without retention': (baseURL) => withLangChain(baseURL, { stream: false, zdrEnabled: true }),
  'LangChain without retention, streamed': (baseURL) => withLangChain(baseURL, { stream: true, zdrEnabled: true }),
  '@openai/agents': (baseURL) => withAgents(baseURL, false),
  '@openai/agents, streamed': (baseURL) => withAgents(baseURL, true),
  '@ai-sdk/openai with store: false': (baseURL) =>
    withAiSdk(createOpenAI({ baseURL, apiKey: API_KEY }).responses(MODEL)),
  '@ai-sdk/open-responses': (baseURL) =>
    withAiSdk(createOpenResponses({ name: 'gateway', url: `${baseURL}/responses`, apiKey: API_KEY })(MODEL)),
  'Codex CLI': withCodex,
};

describe('state that a backend wants back', () => {
  let backend: ScriptedBackend;
  let gateway: TestGateway;

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  for (const [kind, played] of Object.entries(STATE_BACKENDS)) {
    for (const [client, run] of Object.entries(CLIENTS)) {
      it(`of ${kind} comes back with ${client}`, async () => {
        backend = await startScriptedBackend();
        backend.always(playState(played));
        gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: played.dialect });
        expect(await run(`${gateway.url}/api/v1`)).to.equal('It rains.');
        expect(backend.requests.length).to.be.at.least(3);
      });
    }
  }
});

async function withLangChain(
  baseURL: string,
  { stream, zdrEnabled }: { readonly stream: boolean; readonly zdrEnabled: boolean },
): Promise<string> {
  const model = new ChatOpenAI({
    model: MODEL,
    apiKey: API_KEY,
    useResponsesApi: true,
    zdrEnabled,
    maxRetries: 0,
    configuration: { baseURL },
  }).bindTools([{ type: 'function', function: { name, description, parameters: z.toJSONSchema(parameters) } }]);
  const options = zdrEnabled ? { include: ['reasoning.encrypted_content' as const] } : {};
  const history: BaseMessage[] = [new HumanMessage('Weather?')];
  for (;;) {
    const answer: AIMessage = stream
      ? await gather(await model.stream(history, options))
      : await model.invoke(history, options);
    if ((answer.tool_calls ?? []).length === 0) return answer.text;
    history.push(answer);
    for (const { id = '' } of answer.tool_calls ?? []) {
      history.push(new ToolMessage({ tool_call_id: id, content: 'rain' }));
    }
  }
}

async function gather(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks.reduce((whole, chunk) => whole.concat(chunk));
}

async function withAgents(baseURL: string, stream: boolean): Promise<string | undefined> {
  const modelProvider = new OpenAIProvider({ baseURL, apiKey: API_KEY });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = new Agent({
    name: 'Clerk',
    model: MODEL,
    tools: [agentTool({ name, description, parameters, execute })],
  });
  if (!stream) return (await runner.run(agent, 'Weather?')).finalOutput;
  const result = await runner.run(agent, 'Weather?', { stream: true });
  await result.completed;
  return result.finalOutput;
}

/** In steps, and once more in a stream. */
async function withAiSdk(model: LanguageModel): Promise<string> {
  const request = {
    model,
    maxRetries: 0,
    providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
    tools: { [name]: tool({ description, inputSchema: parameters, execute }) },
    stopWhen: isStepCount(5),
    prompt: 'Weather?',
  };
  const { text } = await generateText(request);
  const streamed = streamText(request);
  expect(await streamed.text).to.equal(text);
  return text;
}

async function withCodex(baseURL: string): Promise<string | undefined> {
  const codex = prepareCodex(baseURL);
  const { answer, printed } = await codex.exec('Weather?');
  codex.close();
  expect(answer, printed).not.to.equal(undefined);
  return answer;
}
