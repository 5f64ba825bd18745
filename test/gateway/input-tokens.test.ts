import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import OpenAI from 'openai';
import { CONSTANTS } from '../../src/config/constants.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import type { InputTokens } from '../../src/contract/types.ts';
import { readError } from '../records/caller.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { openManagedGateway, type ManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { compileSchema } from '../support/schemas.ts';
import type { TestSettings } from '../support/settings.ts';

const PATHS = ['/api/v1/responses/input_tokens', '/v1/responses/input_tokens'] as const;
/** For tests that are about what is counted. */
const COUNTED = { tokenCountTimeoutMs: CONSTANTS.tokenCountTimeoutMs };
const HELLO = { model: 'gpt-4o', input: 'Hello' };
/** A word, the frame of one message, and the beginning of the answer. */
const HELLO_TOKENS = 1 + 4 + 3;

describe('a count of input tokens', () => {
  useRealSockets();

  const isInputTokens = compileSchema('input-tokens.json', { closed: true });
  const lines: Record<string, unknown>[] = [];
  const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
  let backend: ScriptedBackend;
  /** Of all tests that need no other, since its thread takes a second to be ready. */
  let common: TestGateway;
  let gateway: TestGateway;

  before(async () => {
    backend = await startScriptedBackend();
    const aliases = { MODEL_ALIASES: '{"mine": "openai/gpt-4-turbo"}' };
    common = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...aliases, ...COUNTED }, { log });
  });
  after(async () => {
    await common.close();
    await backend.close();
  });
  beforeEach(() => {
    gateway = common;
    lines.length = 0;
  });
  afterEach(async () => {
    if (gateway !== common) await gateway.close();
    // Whatever is counted, the backend is not asked.
    expect(backend.requests).to.have.length(0);
  });

  async function open(settings: TestSettings): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings }, { log });
  }

  async function openManaged(): Promise<ManagedGateway> {
    const managed = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
    gateway = managed;
    return managed;
  }

  function post(
    body: object,
    { key = TEST_KEY, path = PATHS[0] }: { key?: string; path?: string } = {},
  ): Promise<Response> {
    return fetch(gateway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  async function count(body: object, options?: Parameters<typeof post>[1]): Promise<InputTokens> {
    const reply = await post(body, options);
    const counted: unknown = await reply.json();
    expect(reply.status, JSON.stringify(counted)).to.equal(200);
    expect(isInputTokens(counted), JSON.stringify(isInputTokens.errors)).to.equal(true);
    return counted as InputTokens;
  }

  it('is what the official SDK asks for', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: TEST_KEY, maxRetries: 0 });
    const counted = await client.responses.inputTokens.count({
      ...HELLO,
      instructions: null,
      conversation: null,
      previous_response_id: null,
      parallel_tool_calls: true,
      reasoning: { effort: 'low' },
      text: { format: { type: 'text' }, verbosity: 'low' },
      tool_choice: 'auto',
      tools: [],
    });
    expect(counted).to.deep.equal({
      object: 'response.input_tokens',
      input_tokens: HELLO_TOKENS,
      estimated: true,
      estimated_by: 'o200k_base',
    });
  });

  for (const path of PATHS) {
    it(`is at ${path}`, async () => {
      expect((await count(HELLO, { path })).input_tokens).to.equal(HELLO_TOKENS);
      const got = await gateway.get(path);
      expect([got.status, got.headers.get('allow')]).to.deep.equal([405, 'POST']);
    });
  }

  it('takes in all that the backend would get: instructions, turns, calls, images, tools and schema', async () => {
    const bodies: readonly object[] = [
      { instructions: 'You are the assistant of a small library.' },
      {
        input: [
          { role: 'user', content: 'Where is it?' },
          { type: 'function_call', call_id: 'c', name: 'look_up', arguments: '{"title":"Lighthouses"}' },
          { type: 'function_call_output', call_id: 'c', output: 'On the third shelf.' },
        ],
      },
      { tools: [{ type: 'function', name: 'look_up', parameters: { type: 'object' } }] },
      { text: { format: { type: 'json_schema', name: 'place', schema: { type: 'object' } } } },
    ];
    for (const body of bodies) {
      const { input_tokens: tokens } = await count({ ...HELLO, ...body });
      expect(tokens, JSON.stringify(body)).to.be.greaterThan(HELLO_TOKENS + 5);
    }
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' };
    const seen = await count({ ...HELLO, input: [{ role: 'user', content: [image] }] });
    expect(seen.input_tokens).to.equal(1000 + 4 + 3);
  });

  it('is always made by arithmetic where it may take no time', async () => {
    await open({});
    // A message counts 16 bytes beside its text.
    const { length } = HELLO.input;
    expect(await count(HELLO)).to.include({ estimated_by: 'arithmetic', input_tokens: Math.ceil((16 + length) / 4) });
  });

  it('leaves no record, and one line in the log without a word of the text', async () => {
    const reply = await post({ ...HELLO, input: 'canary canary' });
    await reply.text();
    expect(await (await gateway.get('/api/v1/requests')).json()).to.have.deep.property('data', []);
    const line = lines.find(({ endpoint }) => endpoint === 'responses.input_tokens');
    expect(line).to.include({ msg: 'answered', status: 200, model: 'gpt-4o', stream: false });
    expect(line).to.include({ requestId: reply.headers.get('x-request-id') });
    expect(JSON.stringify(lines)).not.to.include('canary');
  });

  it('is counted by the metrics as an endpoint of its own, and not as a call of a model', async () => {
    await open({ METRICS_PORT: '0' });
    await count(HELLO);
    const metrics = await (await fetch(`${gateway.metricsUrl}/metrics`)).text();
    expect(metrics).to.include(
      'responses_gateway_requests_total{endpoint="responses.input_tokens",status="2xx",stream="false",outcome="answered"} 1',
    );
    expect(metrics).not.to.include('gen_ai_request_model="gpt-4o"');
  });

  it('has a thread that ends with the gateway', async () => {
    const threads: Worker[] = [];
    const note = (message: unknown): void => void threads.push((message as { worker: Worker }).worker);
    subscribe('worker_threads', note);
    try {
      await open(COUNTED);
      expect(threads).to.have.length(0);
      await count(HELLO);
      await gateway.close();
      // Of a thread that has ended.
      expect(threads.map(({ threadId }) => threadId)).to.deep.equal([-1]);
    } finally {
      unsubscribe('worker_threads', note);
    }
  });

  describe('of a key that the gateway has issued', () => {
    it('costs nothing, and counts as a request', async () => {
      const { issue, store } = await openManaged();
      const { secret: poor, key } = await issue({ creditsMicro: 0 });
      await count({ ...HELLO, model: 'm' }, { key: poor });
      expect(await store.findKey(key.keyId)).to.include({ balanceMicro: 0, heldMicro: 0 });

      const { secret } = await issue({ limits: { requestsPerMinute: 2, tokensPerMinute: 1 } });
      const first = await post(HELLO, { key: secret });
      expect([first.status, first.headers.get('x-ratelimit-remaining-requests')]).to.deep.equal([200, '1']);
      await count(HELLO, { key: secret });
      const third = await post(HELLO, { key: secret });
      expect([third.status, (await readError(third)).code]).to.deep.equal([429, 'rate_limit_exceeded']);
    });

    it('is refused for a model that the key may not use', async () => {
      const { issue } = await openManaged();
      const { secret } = await issue({ models: ['m'] });
      expect((await readError(await post(HELLO, { key: secret }))).code).to.equal('model_not_found');
      await count({ ...HELLO, model: 'm' }, { key: secret });
    });
  });
});

describe('a count of input tokens by the backend', () => {
  useRealSockets();

  it('is exact, and asked for with the key of the gateway', async () => {
    const backend = await startScriptedBackend();
    const gateway = await openGateway({
      UPSTREAM_BASE_URL: backend.baseUrl,
      UPSTREAM_DIALECT: 'llamacpp',
      UPSTREAM_API_KEY: 'sk-upstream',
      AUTH_MODE: 'static',
      API_KEYS: TEST_KEY,
      ...COUNTED,
    });
    try {
      backend.reply({ json: { input_tokens: 9 } });
      const client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: TEST_KEY, maxRetries: 0 });
      const counted = await client.responses.inputTokens.count(HELLO);
      expect(counted).to.deep.equal({ object: 'response.input_tokens', input_tokens: 9, estimated: false });
      expect(backend.requests[0]).to.deep.include({ path: '/v1/chat/completions/input_tokens' });
      expect(backend.requests[0]?.headers.authorization).to.equal('Bearer sk-upstream');

      backend.reply({ json: { input_tokens: 100_000 } });
      const large = 'Hello '.repeat(100_000);
      expect(await client.responses.inputTokens.count({ ...HELLO, input: large })).to.include({ estimated: false });
      expect(backend.requests[1]?.body).to.deep.include({ messages: [{ role: 'user', content: large }] });
    } finally {
      await gateway.close();
      await backend.close();
    }
  });
});
