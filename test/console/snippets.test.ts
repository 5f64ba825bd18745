import { expect } from 'chai';
import { SNIPPETS } from '../../src/console/snippets.js';
import type { CreateResponse, FunctionTool } from '../../src/contract/types.ts';

const BASE_URL = 'http://127.0.0.1:8080/api/v1';
const NASTY = `"double" 'single' \\ \${x} \`tick\` $HOME $(id) %s {x}\n\t— ümlaut 🙂 \u2028 </script> '''`;

const plain: CreateResponse = { model: 'm', input: 'Hello' };
const full: CreateResponse = {
  model: NASTY,
  input: NASTY,
  instructions: NASTY,
  tools: [
    {
      type: 'function',
      name: 'look-up',
      description: NASTY,
      strict: true,
      parameters: {
        type: 'object',
        properties: { 'a b': { type: ['string', 'null'] }, ['__proto__']: {} },
        required: [],
      },
    },
    { type: 'custom', name: 'shell' },
  ],
  max_output_tokens: 100,
  reasoning: { effort: 'low' },
  stream: true,
};

function write(id: string, request: CreateResponse): string {
  return SNIPPETS.find((snippet) => snippet.id === id)?.write(request, BASE_URL) ?? '';
}

describe('the request as code', () => {
  it('is a curl command', () => {
    expect(write('curl', plain)).to.equal(
      [
        `curl 'http://127.0.0.1:8080/api/v1/responses' \\`,
        `  -H "Authorization: Bearer $GATEWAY_API_KEY" \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '{\n  "model": "m",\n  "input": "Hello"\n}'`,
      ].join('\n'),
    );
  });

  it('is a program of the OpenAI SDK', () => {
    expect(write('openai-js', plain)).to.equal(`import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: 'http://127.0.0.1:8080/api/v1',
  apiKey: process.env.GATEWAY_API_KEY,
});
const response = await client.responses.create({
  model: 'm',
  input: 'Hello',
});
console.log(response.output_text);`);
  });

  it('is a program of the OpenAI SDK for Python', () => {
    const look = { type: 'function', name: 'look', parameters: { default: null, enum: [] } } as const;
    const request: CreateResponse = { ...plain, stream: true, tools: [look], store: false };
    expect(write('openai-python', request)).to.equal(`import os
from openai import OpenAI

client = OpenAI(
    base_url="http://127.0.0.1:8080/api/v1",
    api_key=os.environ["GATEWAY_API_KEY"],
)
stream = client.responses.create(
    model="m",
    input="Hello",
    stream=True,
    tools=[
        {
            "type": "function",
            "name": "look",
            "parameters": {
                "default": None,
                "enum": [],
            },
        },
    ],
    store=False,
)
for event in stream:
    if event.type == "response.output_text.delta":
        print(event.delta, end="", flush=True)`);
  });

  it('is a program of the AI SDK that stores nothing', () => {
    expect(write('ai-sdk', { ...full, model: 'm', instructions: 'Be brief', input: 'Hello', tools: [] })).to.equal(
      `import { createOpenAI } from '@ai-sdk/openai';
import { streamText } from 'ai';

const gateway = createOpenAI({
  baseURL: 'http://127.0.0.1:8080/api/v1',
  apiKey: process.env.GATEWAY_API_KEY,
});
const { textStream } = streamText({
  model: gateway.responses('m'),
  instructions: 'Be brief',
  prompt: 'Hello',
  maxOutputTokens: 100,
  providerOptions: {
    openai: {
      store: false,
      include: ['reasoning.encrypted_content'],
      forceReasoning: true,
      reasoningEffort: 'low',
    },
  },
});
for await (const text of textStream) process.stdout.write(text);`,
    );
  });

  it('is a program that asks over a WebSocket', () => {
    expect(write('openai-ws', { ...plain, stream: true })).to.equal(`import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';

const client = new OpenAI({
  baseURL: 'http://127.0.0.1:8080/api/v1',
  apiKey: process.env.GATEWAY_API_KEY,
});
const socket = new ResponsesWS(client);
socket.on('error', (error) => {
  throw error;
});
socket.on('response.output_text.delta', ({ delta }) => process.stdout.write(delta));
for (const end of ['response.completed', 'response.incomplete', 'response.failed']) {
  socket.on(end, () => socket.close());
}
socket.send({
  type: 'response.create',
  model: 'm',
  input: 'Hello',
});`);
  });

  it('takes the key from the environment', () => {
    for (const { id } of SNIPPETS) expect(write(id, plain).match(/GATEWAY_API_KEY/g), id).to.have.length(1);
  });

  describe('with everything that could end a literal early', () => {
    it('reaches the OpenAI SDK as it is', async () => {
      expect(await callsOf(write('openai-js', full))).to.deep.equal([{ baseURL: BASE_URL }, full]);
    });

    it('reaches a WebSocket as it is, but for the stream which it is anyway', async () => {
      const { stream: _stream, ...request } = full;
      expect(await callsOf(write('openai-ws', full))).to.deep.equal([
        { baseURL: BASE_URL },
        { type: 'response.create', ...request },
      ]);
    });

    it('reaches the AI SDK as it is', async () => {
      const [settings, model, call] = await callsOf(write('ai-sdk', full));
      const { parameters } = (full.tools?.[0] ?? {}) as FunctionTool;
      expect([settings, model]).to.deep.equal([{ baseURL: BASE_URL }, NASTY]);
      expect(call).to.deep.include({
        prompt: NASTY,
        instructions: NASTY,
        tools: { 'look-up': { description: NASTY, inputSchema: parameters } },
      });
    });
  });
});

/** What a snippet hands to the SDKs, which are replaced by ones that only look. */
async function callsOf(code: string): Promise<unknown[]> {
  const calls: unknown[] = [];
  const look = (value: unknown) => (calls.push(JSON.parse(JSON.stringify(value))), { textStream: [] });
  const known = {
    process: { env: {}, stdout: { write: () => true } },
    streamText: look,
    createOpenAI: (value: unknown) => (look(value), { responses: look }),
    jsonSchema: (value: unknown) => value,
    tool: (value: unknown) => value,
    OpenAI: class {
      responses = { create: (value: unknown) => (look(value), []) };
      constructor(value: unknown) {
        look(value);
      }
    },
    ResponsesWS: class {
      on = () => undefined;
      send = look;
    },
  };
  const program = code.replaceAll(/^import .*$/gm, '');
  const run = new AsyncFunction(...Object.keys(known), `'use strict'; ${program}`) as (...parts: unknown[]) => unknown;
  await run(...Object.values(known));
  return calls;
}

/** Takes the names of its parameters, and then its body. */
const AsyncFunction = (async () => undefined).constructor as new (...source: readonly string[]) => unknown;
