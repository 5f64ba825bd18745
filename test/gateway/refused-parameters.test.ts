import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

/** Azure Foundry answers so for Kimi and DeepSeek (vectorize-io/hindsight#3518); other fields are refused alike elsewhere. */
const REFUSED = ['prompt_cache_key', 'parallel_tool_calls', 'verbosity', 'stream_options'];

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

  for (const { dialect, field, words } of [
    {
      dialect: 'google',
      field: 'reasoning_effort',
      words: 'Budget 0 is invalid. This model only works in thinking mode.',
    },
    {
      dialect: 'openrouter',
      field: 'reasoning',
      words: 'Reasoning is mandatory for this endpoint and cannot be disabled',
    },
  ]) {
    it(`are an effort of none where a model at ${dialect} always thinks`, async () => {
      backend.always(({ request, start, end }) => {
        const isRefused = field in (request.body as object);
        start(isRefused ? 400 : 200, { 'content-type': 'application/json' });
        const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }];
        end(JSON.stringify(isRefused ? { error: { message: words } } : { choices }));
      });
      const other = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: dialect });
      const reply = await other.create({ model: 'm', input: 'Hi', reasoning: { effort: 'none' } });
      await other.close();
      expect(reply.status).to.equal(200);
      expect(reply.headers.get('x-ignored-parameters')).to.equal('reasoning.effort');
    });
  }

  it('are not named where there are none', async () => {
    const reply = await fetch(`${gateway.url}/api/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: 'Hi', stream: true }),
    });
    expect(reply.status).to.equal(200);
    expect(reply.headers.get('x-ignored-parameters')).to.equal(null);
    await reply.text();
  });
});
