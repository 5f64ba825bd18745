/** Real clients, which run their tools as long as the model asks for it. */

import { AIMessageChunk, HumanMessage, ToolMessage, type AIMessage, type BaseMessage } from '@langchain/core/messages';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIProvider, Runner, tool as agentTool } from '@openai/agents';
import { generateText, isStepCount, Output, streamText, tool, type LanguageModel } from 'ai';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { Response, ResponseInputItem } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { SDKS, type Sdk } from '../sdks/sdks.ts';
import { API_KEY } from '../strict-backend.ts';
import { HAS_OPENCODE, withCodex, withOpencode, withPi } from './agents.ts';
import { DESCRIPTION, PLACE, PROMPT, rainIn, toCalled, toolsOf, type Asked, type ScenarioName } from './scenarios.ts';

/** Resolves with the text at the end, or with the calls where a choice of tools leaves no more to do. */
type Run = (asked: Asked) => Promise<string | undefined>;

export interface Client {
  readonly package: string;
  readonly run: Run;
  /** What it is to ask for; all where it is not given. */
  readonly scenarios?: readonly ScenarioName[];
  readonly dropsThoughts?: true;
}

async function withOpenAi(asked: Asked, stream: boolean): Promise<string> {
  const { baseURL, model, effort, isStructured, toolChoice } = asked;
  const client = new OpenAI({ baseURL, apiKey: API_KEY, maxRetries: 0 });
  const tools = toolsOf(asked).map((name) => ({
    type: 'function' as const,
    name,
    description: DESCRIPTION,
    strict: true,
    parameters: z.toJSONSchema(PLACE),
  }));
  const choice = toolChoice === 'get_weather' ? ({ type: 'function', name: toolChoice } as const) : toolChoice;
  const input: ResponseInputItem[] = [{ role: 'user', content: PROMPT }];
  for (;;) {
    const request = {
      model,
      input,
      ...(isStructured ? { text: { format: zodTextFormat(PLACE, 'place') } } : { tools }),
      ...(choice !== undefined && { tool_choice: choice }),
      ...(effort !== undefined && { reasoning: { effort } }),
    };
    const response: Response = stream
      ? await client.responses.stream(request).finalResponse()
      : await client.responses.create(request);
    const { output, output_text: text } = response;
    const calls = output.filter((item) => item.type === 'function_call');
    if (calls.length === 0) return text;
    const called = calls.map((call) => ({ ...call, given: PLACE.parse(JSON.parse(call.arguments)) }));
    if (choice !== undefined) return called.map(({ name, given }) => toCalled(name, given)).join();
    input.push(...(output as ResponseInputItem[]));
    for (const { call_id, given } of called)
      input.push({ type: 'function_call_output', call_id, output: rainIn(given.city) });
  }
}

async function withAgents(asked: Asked, stream: boolean): Promise<string | undefined> {
  const { baseURL, model, effort, isStructured, toolChoice } = asked;
  const runner = new Runner({
    modelProvider: new OpenAIProvider({ baseURL, apiKey: API_KEY }),
    tracingDisabled: true,
  });
  const called: string[] = [];
  const tools = toolsOf(asked).map((name) =>
    agentTool({
      name,
      description: DESCRIPTION,
      parameters: PLACE,
      execute(given) {
        called.push(toCalled(name, given));
        return rainIn(given.city);
      },
    }),
  );
  const agent = new Agent({
    name: 'Clerk',
    model,
    modelSettings: {
      ...(toolChoice !== undefined && { toolChoice }),
      ...(effort !== undefined && { reasoning: { effort } }),
    },
    toolUseBehavior: toolChoice === undefined ? 'run_llm_again' : 'stop_on_first_tool',
    ...(isStructured ? { outputType: PLACE } : { tools }),
  });
  const result = stream ? await runner.run(agent, PROMPT, { stream }) : await runner.run(agent, PROMPT);
  if ('completed' in result) await result.completed;
  if (toolChoice !== undefined && called.length > 0) return called.join();
  const { finalOutput } = result;
  return typeof finalOutput === 'object' ? JSON.stringify(finalOutput) : finalOutput;
}

async function withAiSdk(model: LanguageModel, asked: Asked, stream: boolean): Promise<string> {
  const { effort, isStructured, toolChoice } = asked;
  const tools = Object.fromEntries(
    toolsOf(asked).map((name) => [
      name,
      tool({ description: DESCRIPTION, inputSchema: PLACE, execute: ({ city }) => rainIn(city) }),
    ]),
  );
  const request = {
    model,
    maxRetries: 0,
    prompt: PROMPT,
    providerOptions: {
      openai: { store: false, include: ['reasoning.encrypted_content'], forceReasoning: effort !== undefined },
    },
    ...(effort !== undefined && { reasoning: effort }),
    ...(isStructured ? { output: Output.object({ schema: PLACE }) } : { tools }),
    ...(toolChoice === 'none' && { toolChoice }),
    ...(toolChoice === 'get_weather' && { toolChoice: { type: 'tool' as const, toolName: toolChoice } }),
    stopWhen: isStepCount(toolChoice === undefined ? 6 : 1),
  };
  const { text, toolCalls } = stream ? streamText(request) : await generateText(request);
  if (toolChoice === undefined) return await text;
  const called = (await toolCalls).map(({ toolName, input }) => toCalled(toolName, PLACE.parse(input)));
  return called.join() || (await text);
}

async function withLangChain(asked: Asked, stream: boolean, zdrEnabled = false): Promise<string> {
  const { baseURL, model, effort, isStructured, toolChoice } = asked;
  const chat = new ChatOpenAI({
    model,
    apiKey: API_KEY,
    useResponsesApi: true,
    zdrEnabled,
    maxRetries: 0,
    // It sends an effort only with names of OpenAI's models, and no `tool_choice` that is a word.
    modelKwargs: {
      ...(effort !== undefined && { reasoning: { effort } }),
      ...(toolChoice === 'none' && { tool_choice: toolChoice }),
    },
    configuration: { baseURL },
  });
  if (isStructured) {
    const structured = chat.withStructuredOutput(PLACE, { name: 'place', method: 'jsonSchema' });
    return JSON.stringify(await structured.invoke(PROMPT));
  }
  const parameters = z.toJSONSchema(PLACE);
  const runnable = chat.bindTools(
    toolsOf(asked).map((name) => ({
      type: 'function' as const,
      function: { name, description: DESCRIPTION, parameters },
    })),
    {
      ...(toolChoice === 'get_weather' && { tool_choice: toolChoice }),
      ...(zdrEnabled && { include: ['reasoning.encrypted_content' as const] }),
    },
  );
  const history: BaseMessage[] = [new HumanMessage(PROMPT)];
  for (;;) {
    const answer: AIMessage = stream ? await gather(await runnable.stream(history)) : await runnable.invoke(history);
    const calls = (answer.tool_calls ?? []).map(({ id = '', name, args }) => ({ id, name, given: PLACE.parse(args) }));
    if (calls.length === 0) return answer.text;
    if (toolChoice !== undefined) return calls.map(({ name, given }) => toCalled(name, given)).join();
    history.push(answer);
    for (const { id, given } of calls) history.push(new ToolMessage({ tool_call_id: id, content: rainIn(given.city) }));
  }
}

async function gather(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks.reduce((whole, chunk) => whole.concat(chunk));
}

/** Asks twice: for JSON, and for a stream. Returns the answer where both are the same. */
function inBothWays(client: (asked: Asked, stream: boolean) => Promise<string | undefined>): Run {
  return async (asked) => {
    const [json, streamed] = await Promise.all([client(asked, false), client(asked, true)]);
    return json === streamed ? json : `${json}, but streamed: ${streamed}`;
  };
}

function toClient({ package: name, ask, only, structured, dropsThoughts }: Sdk): Client {
  const run = only === undefined ? inBothWays(ask) : (asked: Asked) => ask(asked, only === 'stream');
  // The models of the backends say JSON by a schema alone.
  const scenarios = structured === undefined ? (['structured-output'] as const) : [];
  return {
    package: name,
    run,
    scenarios: ['tool-loop', 'parallel-calls', ...scenarios],
    ...(dropsThoughts && { dropsThoughts }),
  };
}

export const CLIENTS: Readonly<Record<string, Client>> = {
  'OpenAI SDK': { package: 'openai', run: inBothWays(withOpenAi) },
  'Agents SDK': { package: '@openai/agents', run: inBothWays(withAgents) },
  'AI SDK, openai': {
    package: '@ai-sdk/openai',
    run: inBothWays((asked, stream) =>
      withAiSdk(createOpenAI({ baseURL: asked.baseURL, apiKey: API_KEY }).responses(asked.model), asked, stream),
    ),
  },
  'AI SDK, open-responses': {
    package: '@ai-sdk/open-responses',
    run: inBothWays((asked, stream) => {
      const url = `${asked.baseURL}/responses`;
      return withAiSdk(createOpenResponses({ name: 'gateway', url, apiKey: API_KEY })(asked.model), asked, stream);
    }),
  },
  LangChain: { package: '@langchain/openai', run: inBothWays(withLangChain) },
  'LangChain, no retention': {
    package: '@langchain/openai',
    run: inBothWays((asked, stream) => withLangChain(asked, stream, true)),
  },
  ...Object.fromEntries(Object.entries(SDKS).map(([name, sdk]) => [name, toClient(sdk)])),
  // They choose their tools themselves.
  Codex: {
    package: '@openai/codex',
    run: withCodex,
    scenarios: ['tool-loop', 'parallel-calls', 'structured-output', 'thinking-off'],
  },
  pi: { package: '@mariozechner/pi-coding-agent', run: withPi, scenarios: ['tool-loop'] },
  opencode: {
    package: 'opencode-linux-x64-baseline',
    run: withOpencode,
    scenarios: HAS_OPENCODE ? ['tool-loop'] : [],
  },
};
