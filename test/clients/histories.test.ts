/** Conversations that began at another server, with every kind of item that a client can hold, and go on here. */

import { createOpenAI } from '@ai-sdk/openai';
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, applyPatchTool, OpenAIProvider, Runner, shellTool, tool as agentTool } from '@openai/agents';
import { generateText, isStepCount, tool } from 'ai';
import { expect } from 'chai';
import OpenAI from 'openai';
import type { ResponseInput } from 'openai/resources/responses/responses';
import { z } from 'zod';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { CLIENT_ITEMS, EVERY_ITEM } from '../support/client-items.ts';
import { FOREIGN_ITEMS, HOSTED_CALLS } from '../support/foreign-items.ts';
import { useGateway } from './scene.ts';
import { API_KEY } from './strict-backend.ts';

const MODEL = 'test-model';

const MESSAGE = {
  type: 'message',
  id: 'msg_2',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'One.', annotations: [], logprobs: [] }],
};
const REASONING = CLIENT_ITEMS.filter(({ type }) => type === 'reasoning');
const LISTED = FOREIGN_ITEMS.filter(({ type }) => type === 'mcp_list_tools');
const WITHOUT_SCREEN = HOSTED_CALLS.filter(({ type }) => !type.startsWith('computer'));
/** The client executes them. */
const CALLS = [
  { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', arguments: '{}', status: 'completed' },
  {
    type: 'shell_call',
    id: 'sh_1',
    call_id: 'call_2',
    status: 'completed',
    action: { commands: ['ls'], timeout_ms: null, max_output_length: null },
  },
  {
    type: 'apply_patch_call',
    id: 'apc_1',
    call_id: 'call_3',
    status: 'completed',
    operation: { type: 'delete_file', path: 'a.md' },
  },
];
const MORE_CALLS = [
  {
    type: 'custom_tool_call',
    id: 'ctc_1',
    call_id: 'call_4',
    name: 'exec',
    input: 'text("looked")',
    status: 'completed',
  },
  {
    type: 'local_shell_call',
    id: 'lsh_1',
    call_id: 'call_5',
    status: 'completed',
    action: { type: 'exec', command: ['ls'], env: {} },
  },
  {
    type: 'tool_search_call',
    id: 'tsc_1',
    call_id: 'call_6',
    execution: 'client',
    status: 'completed',
    arguments: { query: 'cats' },
  },
];

/** What the other server has served, and what is left to do. */
const SERVED = [...REASONING, ...WITHOUT_SCREEN, ...LISTED, MESSAGE, ...CALLS];

interface Place {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly fetch: typeof fetch;
}

interface Client {
  readonly name: string;
  /** What the other server answers first. */
  readonly first: readonly object[];
  /** Asks until the model calls no more. Returns its last answer. */
  readonly talk: (place: Place) => Promise<unknown>;
  /** The types of the items of the last request. */
  readonly sends: readonly string[];
}

const CLIENTS: readonly Client[] = [
  {
    name: 'openai',
    first: EVERY_ITEM,
    sends: [...typesOf(EVERY_ITEM), 'message'],
    async talk(place) {
      const client = new OpenAI(place);
      const { output } = await client.responses.create({ model: MODEL, input: 'Hello' });
      const input = [...output, { role: 'user', content: 'And?' }] as ResponseInput;
      return (await client.responses.create({ model: MODEL, input })).output_text;
    },
  },
  {
    name: '@openai/agents',
    first: SERVED,
    sends: ['message', ...typesOf(SERVED), 'function_call_output', 'shell_call_output', 'apply_patch_call_output'],
    async talk(place) {
      const editor = { createFile: done, updateFile: done, deleteFile: done };
      const look = agentTool({ name: 'look', description: '', parameters: z.object({}), execute: () => 'rain' });
      const shell = { run: () => Promise.resolve({ output: [{ stdout: 'a.md', stderr: '', outcome: EXIT }] }) };
      const tools = [look, shellTool({ shell }), applyPatchTool({ editor })];
      const modelProvider = new OpenAIProvider({ openAIClient: new OpenAI(place) });
      const runner = new Runner({ modelProvider, tracingDisabled: true });
      return (await runner.run(new Agent({ name: 'Clerk', model: MODEL, tools }), 'Hello')).finalOutput;
    },
  },
  {
    name: '@ai-sdk/openai',
    first: [...SERVED, ...MORE_CALLS],
    // It keeps what another server has found on the web, and nothing else of calls that it did not execute.
    sends: [
      'message',
      'reasoning',
      'web_search_call',
      'message',
      ...typesOf([...CALLS, ...MORE_CALLS]),
      'function_call_output',
      'shell_call_output',
      'apply_patch_call_output',
      'custom_tool_call_output',
      'local_shell_call_output',
      'tool_search_output',
    ],
    async talk(place) {
      const openai = createOpenAI(place);
      const tools = {
        web_search: openai.tools.webSearch({}),
        file_search: openai.tools.fileSearch({ vectorStoreIds: ['vs_1'] }),
        code_interpreter: openai.tools.codeInterpreter({}),
        image_generation: openai.tools.imageGeneration({}),
        mcp: openai.tools.mcp({ serverLabel: 'cats', serverUrl: 'https://cats.example' }),
        look: tool({ inputSchema: z.object({}), execute: () => 'rain' }),
        shell: openai.tools.shell({
          execute: () =>
            Promise.resolve({ output: [{ stdout: 'a.md', stderr: '', outcome: { type: 'exit', exitCode: 0 } }] }),
        }),
        apply_patch: openai.tools.applyPatch({ execute: done }),
        exec: openai.tools.customTool({ execute: () => Promise.resolve('looked') }),
        local_shell: openai.tools.localShell({ execute: () => Promise.resolve({ output: 'a.md' }) }),
        tool_search: openai.tools.toolSearch({ execution: 'client', execute: () => Promise.resolve({ tools: [] }) }),
      };
      const { text } = await generateText({
        model: openai.responses(MODEL),
        tools,
        prompt: 'Hello',
        stopWhen: isStepCount(2),
        providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
        maxRetries: 0,
      });
      return text;
    },
  },
  {
    name: '@langchain/openai',
    first: [...SERVED, ...MORE_CALLS],
    sends: ['message', ...typesOf([...SERVED, ...MORE_CALLS]), 'message'],
    async talk({ apiKey, ...configuration }) {
      const model = new ChatOpenAI({
        model: MODEL,
        apiKey,
        useResponsesApi: true,
        zdrEnabled: true,
        maxRetries: 0,
        configuration,
      });
      const question = new HumanMessage('Hello');
      return (await model.invoke([question, await model.invoke([question]), new HumanMessage('And?')])).text;
    },
  },
];

const EXIT = { type: 'exit', exitCode: 0 } as const;

function done() {
  return Promise.resolve({ status: 'completed' as const, output: '' });
}

function typesOf(items: readonly { readonly type?: string }[]): string[] {
  return items.map(({ type = 'message' }) => type);
}

describe('a conversation that began at another server', () => {
  const scene = useGateway({ rules: { reasoningField: 'reasoning_content', mayLackReasoning: true } });
  let other: ScriptedBackend;

  before(() => {
    // The AI SDK warns of each item that it leaves out.
    globalThis.AI_SDK_LOG_WARNINGS = false;
  });

  beforeEach(async () => {
    other = await startScriptedBackend();
  });

  afterEach(() => other.close());

  for (const { name, first, talk, sends } of CLIENTS) {
    it(`goes on here with ${name}`, async () => {
      other.reply({ json: { ...RESPONSE, output: first } });
      scene.backend.plays({ text: 'Two.' });
      const sent: { input: readonly { type?: string }[] }[] = [];
      const moving: typeof fetch = (url, init) => {
        sent.push(JSON.parse(init?.body as string) as (typeof sent)[number]);
        return fetch(sent.length === 1 ? `${other.baseUrl}/responses` : url, init);
      };
      expect(await talk({ baseURL: scene.baseUrl, apiKey: API_KEY, fetch: moving })).to.equal('Two.');
      expect(typesOf(sent[1]?.input ?? [])).to.deep.equal(sends);
    });
  }
});

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_790_000_000,
  model: MODEL,
  status: 'completed',
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  tool_choice: 'auto',
  tools: [],
  top_p: 1,
  usage: {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 18,
  },
};
