import { expect } from 'chai';
import OpenAI from 'openai';
import type { ResponseCreateParams } from 'openai/resources/responses/responses';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { LOCAL_SERVERS, playLocalServer } from '../support/local-servers.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const tool = (name: string) => ({ type: 'function', name, strict: false, parameters: { type: 'object' } }) as const;

/** What a caller asks for, and the calls that it gets; null for one empty message. */
const CHOICES: readonly {
  readonly name: string;
  readonly ask: Partial<Pick<ResponseCreateParams, 'tool_choice' | 'parallel_tool_calls'>>;
  readonly calls: readonly string[] | null;
}[] = [
  { name: 'nothing', ask: {}, calls: ['look', 'look'] },
  { name: 'a function', ask: { tool_choice: { type: 'function', name: 'see' } }, calls: ['see', 'see'] },
  {
    name: 'a function, once',
    ask: { tool_choice: { type: 'function', name: 'see' }, parallel_tool_calls: false },
    calls: ['see'],
  },
  {
    name: 'an allowed function',
    ask: { tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'see' }] } },
    calls: ['see', 'see'],
  },
  { name: 'no call', ask: { tool_choice: 'none' }, calls: null },
];

describe('tool_choice and parallel_tool_calls in front of servers that do not hold them', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  for (const [server, played] of Object.entries(LOCAL_SERVERS)) {
    for (const { name, ask, calls } of CHOICES) {
      for (const stream of [false, true]) {
        it(`${server}: ${name}, ${stream ? 'streamed' : 'JSON'}`, async () => {
          backend = await startScriptedBackend();
          backend.always(playLocalServer(played));
          gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: played.dialect });
          const client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: TEST_KEY, maxRetries: 0 });
          const request = { model: 'm', input: 'Go.', tools: [tool('look'), tool('see')], ...ask };
          const { output, output_text: text } = stream
            ? await client.responses.stream(request).finalResponse()
            : await client.responses.create(request);
          const called = output.flatMap((item) => (item.type === 'function_call' ? [item.name] : []));
          expect(called).to.deep.equal(calls ?? []);
          if (calls === null)
            expect({ types: output.map(({ type }) => type), text }).to.deep.equal(EMPTY_MESSAGE[server]);
        });
      }
    }
  }
});

/** Only a server that is offered nothing says something else than a call. */
const EMPTY_MESSAGE: Readonly<Record<string, object>> = {
  'LM Studio': { types: ['message'], text: '' },
  'llama.cpp': { types: ['message'], text: '' },
  Ollama: { types: ['message'], text: 'No tools.' },
};
