import { expect } from 'chai';
import OpenAI from 'openai';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

describe('a JSON reply in front of llama.cpp', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let client: OpenAI;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: 'llamacpp' });
    client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: TEST_KEY, maxRetries: 0 });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  it('is made from a stream', async () => {
    backend.reply(async ({ sse, end }) => {
      await sse({ choices: [{ index: 0, delta: { content: 'Hel' }, finish_reason: null }] });
      await sse({ choices: [{ index: 0, delta: { content: 'lo' }, finish_reason: 'stop' }] });
      await sse({ choices: [], usage: USAGE });
      await sse('[DONE]');
      end();
    });
    const response = await client.responses.create({ model: 'm', input: 'Hi' });
    expect(backend.requests[0]?.body).to.deep.include({ stream: true, stream_options: { include_usage: true } });
    expect(response).to.deep.include({ output_text: 'Hello', status: 'completed' });
    expect(response.usage).to.include({ input_tokens: 3, output_tokens: 2 });
  });

  it('of a failure in the middle has a status', async () => {
    backend.reply(async ({ sse, end }) => {
      await sse({ choices: [{ index: 0, delta: { content: 'Hel' }, finish_reason: null }] });
      await sse({ error: { code: 500, message: 'Out of memory', type: 'server_error' } });
      end();
    });
    const thrown: unknown = await client.responses.create({ model: 'm', input: 'Hi' }).catch((error: unknown) => error);
    expect(thrown).to.include({ status: 502, code: 'upstream_error' });
  });
});
