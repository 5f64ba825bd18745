import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

/** Azure Foundry answers so for Kimi and DeepSeek (vectorize-io/hindsight#3518); other fields are refused alike elsewhere. */
const REFUSED = ['prompt_cache_key', 'parallel_tool_calls', 'verbosity', 'stream_options'];
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';

describe('parameters that the backend refuses', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(async ({ request, start, sse, end }) => {
      const chat = request.body as Readonly<Record<string, unknown>>;
      const field = REFUSED.find((name) => chat[name] !== undefined);
      if (field !== undefined) {
        start(400, { 'content-type': 'application/json' });
        end(JSON.stringify({ error: { message: `Unrecognized request argument supplied: ${field}` } }));
        return;
      }
      await sse({ choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] });
      await sse('[DONE]');
      end();
    });
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: 'openai' });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  it('are left out, named in the reply, and remembered', async () => {
    const request = {
      model: 'm',
      input: 'Hi',
      stream: true,
      tools: [{ type: 'function', name: 'look' }],
      parallel_tool_calls: false,
      prompt_cache_key: 'k',
      text: { verbosity: 'low' },
    };
    for (const tries of [5, 6]) {
      const reply = await fetch(`${gateway.url}/api/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify(request),
      });
      expect(reply.status).to.equal(200);
      expect(reply.headers.get('x-ignored-parameters')).to.equal(
        'prompt_cache_key, parallel_tool_calls, text.verbosity',
      );
      expect(await reply.text()).to.include('response.completed');
      expect(backend.requests).to.have.length(tries);
    }
  });

  for (const { name, dialect, isRefused, words, ignored, isLarge = false } of [
    {
      name: 'thoughts of another provider',
      dialect: 'sglang',
      isRefused: (sent: string) => sent.includes('"reasoning_content"'),
      words: "messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported",
      ignored: 'input.reasoning',
    },
    {
      name: 'strict',
      dialect: 'generic',
      isRefused: (sent: string) => sent.includes('"strict"'),
      words: "Tools with mixed values for 'strict' are not allowed.",
      ignored: 'tools.strict',
      isLarge: true,
    },
    {
      name: 'the schema of a tool',
      dialect: 'google',
      isRefused: (sent: string) => sent.includes('"additionalProperties"'),
      words:
        'Unknown name "additionalProperties" at \'tools[0].function_declarations[0].parameters\': Cannot find field.',
      ignored: 'tools.parameters',
    },
    {
      name: 'images that a tool has shown to a model without vision',
      dialect: 'vllm',
      isRefused: (sent: string) => sent.includes('image_url'),
      words: 'At most 0 image(s) may be provided in one prompt.',
      ignored: 'input.input_image',
      isLarge: true,
    },
    {
      name: 'nothing of the caller, where a message of the assistant must come between',
      dialect: 'vllm',
      isRefused: (sent: string) => !sent.includes('I have read the output.'),
      words: "Unexpected role 'user' after role 'tool'",
      ignored: null,
    },
    {
      name: 'nothing of the caller, where thoughts must come with a call',
      dialect: 'openai',
      isRefused: (sent: string) => !sent.includes('"reasoning_content":" "'),
      words: 'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
      ignored: null,
    },
  ]) {
    it(`are inside of ${isLarge ? 'large ' : ''}messages and tools: ${name}`, async () => {
      backend.always(({ request, start, end }) => {
        const refused = isRefused(JSON.stringify(request.body));
        start(refused ? 422 : 200, { 'content-type': 'application/json' });
        const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
        end(JSON.stringify(refused ? { detail: [{ msg: words }] } : { choices }));
      });
      const other = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: dialect });
      const input = [
        { role: 'user', content: isLarge ? 'x'.repeat(2_200_000) : 'Hi' },
        {
          type: 'reasoning',
          id: 'rs_68af',
          summary: [{ type: 'summary_text', text: '**Looking**' }],
          encrypted_content: 'gAAAA',
        },
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: PIXEL }] },
        { role: 'user', content: 'And?' },
      ];
      const tools = [
        { type: 'function', name: 'look', strict: true },
        { type: 'function', name: 'see' },
      ];
      for (const tries of [2, 3]) {
        const reply = await other.create({ model: 'm', input, tools });
        expect(reply.status).to.equal(200);
        expect(reply.headers.get('x-ignored-parameters')).to.equal(ignored);
        expect(backend.requests).to.have.length(tries);
      }
      await other.close();
      const [, once, again] = backend.requests.map(({ body }) => body);
      expect(again).to.deep.equal(once);
    });
  }

  it('are inside of messages and tools of a conversation, which stays the beginning of each next turn', async () => {
    const taken: string[] = [];
    backend.always(({ request, start, end }) => {
      const { messages } = request.body as { messages: readonly { role: string; [field: string]: unknown }[] };
      const words = [
        [messages.some(({ reasoning }) => reasoning !== undefined), "property 'reasoning' is unsupported"],
        [
          messages.some(({ tool_calls: calls, reasoning_content: thought }) => calls && thought !== ' '),
          'reasoning_content is missing',
        ],
        [messages.some(({ role }, at) => role === 'user' && messages[at - 1]?.role === 'tool'), 'roles must alternate'],
      ].find(([isRefused]) => isRefused)?.[1];
      start(words === undefined ? 200 : 400, { 'content-type': 'application/json' });
      if (words !== undefined) return end(JSON.stringify({ error: { message: words } }));
      taken.push(JSON.stringify(messages).slice(0, -1));
      const call = { id: `c${taken.length}`, type: 'function', function: { name: 'look', arguments: '{}' } };
      const message = { role: 'assistant', content: 'Hm.', reasoning: 'I think.', tool_calls: [call] };
      return end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }));
    });
    const other = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: 'generic' });
    const input: object[] = [{ role: 'user', content: 'Hi' }];
    for (let turn = 1; turn <= 5; turn++) {
      const reply = await other.create({ model: 'm', input });
      const { output } = (await reply.json()) as { output: object[] };
      expect(reply.status).to.equal(200);
      input.push(...output, { type: 'function_call_output', call_id: `c${turn}`, output: 'rain' });
      if (turn % 2 === 0) input.push({ role: 'user', content: 'And?' });
    }
    await other.close();
    for (const [turn, sent] of taken.slice(1).entries()) expect(sent.startsWith(taken[turn] ?? '-')).to.equal(true);
    expect([taken.length, backend.requests.length]).to.deep.equal([5, 8]);
  });
});
