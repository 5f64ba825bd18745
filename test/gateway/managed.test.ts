import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI, { APIError, AuthenticationError, RateLimitError } from 'openai';
import { issueSecret } from '../../src/accounts/keys.ts';
import { createGateway, readConfig, type Gateway } from '../../src/gateway.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { createIdentities } from '../../src/identity/identities.ts';
import { callerOf, readError } from '../records/caller.ts';
import { answer, USAGE } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { expectBooksToAddUp } from '../support/books.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { newKeyDraft } from '../support/keys.ts';
import { GATEWAY_SECRET, openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

const ADMIN_TOKEN = 'the-token-of-the-admin-api-in-a-test';
const NOW_MS = 1_790_000_050_000;
const MODELS = { object: 'list', data: [{ id: 'priced-1' }, { id: 'priced-2' }, { id: 'llama' }] };
const REQUEST = { model: 'priced-1', input: 'Hello', max_output_tokens: 100 };

describe('a gateway that issues keys', () => {
  let backend: ScriptedBackend;
  let gateway: ManagedGateway;
  let nowMs: number;

  beforeEach(async () => {
    nowMs = NOW_MS;
    backend = await startScriptedBackend();
    gateway = await openManagedGateway(
      {
        UPSTREAM_BASE_URL: backend.baseUrl,
        UPSTREAM_API_KEY: 'sk-of-the-operator',
        MODEL_ALIASES: '{"fast": "priced-2"}',
        PASSTHROUGH_PATHS: '/v1/embeddings',
      },
      { nowMs: () => nowMs },
    );
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  describe('tells the official SDK', () => {
    const refusals: readonly {
      readonly name: string;
      readonly thrown: new (...args: never[]) => APIError;
      readonly status: number;
      readonly code: string;
      readonly isRepeated: boolean;
      readonly issue: () => Promise<IssuedKey>;
    }[] = [
      {
        name: 'that a key is expired',
        thrown: AuthenticationError,
        status: 401,
        code: 'invalid_api_key',
        isRepeated: false,
        issue: () => gateway.issue({ expiresAtMs: NOW_MS }),
      },
      {
        name: 'that the credits are used up',
        thrown: APIError,
        status: 402,
        code: 'insufficient_credits',
        isRepeated: false,
        issue: () => gateway.issue({ creditsMicro: 10 }),
      },
      {
        name: 'to come again later',
        thrown: RateLimitError,
        status: 429,
        code: 'rate_limit_exceeded',
        isRepeated: true,
        async issue() {
          // Half a second before the end of the minute, as a client that waits for it would have it.
          nowMs = NOW_MS + 49_500;
          const issued = await gateway.issue({ limits: { requestsPerMinute: 1 } });
          backend.reply(answer());
          await callerOf(gateway.url, issued.secret).create(REQUEST);
          return issued;
        },
      },
    ];
    for (const { name, thrown, status, code, isRepeated, issue } of refusals) {
      it(name, async () => {
        const { secret } = await issue();
        const asked = backend.requests.length;
        let attempts = 0;
        const client = new OpenAI({
          apiKey: secret,
          baseURL: `${gateway.url}/v1`,
          maxRetries: 1,
          fetch(...request) {
            attempts += 1;
            return fetch(...request);
          },
        });
        const error = await client.responses.create({ ...REQUEST, model: 'priced-1' }).catch((error: unknown) => error);
        expect(error).to.be.instanceOf(thrown);
        expect(error).to.include({ status, code });
        expect(attempts).to.equal(isRepeated ? 2 : 1);
        expect(backend.requests).to.have.lengthOf(asked);
      });
    }
  });

  it('does not show its callers what the backend says of the limits of its own key', async () => {
    const { secret } = await gateway.issue({ limits: { requestsPerMinute: 50 } });
    const caller = callerOf(gateway.url, secret);
    const headers = { 'x-ratelimit-remaining-requests': '7', 'x-ratelimit-reset-tokens': '1s', ratelimit: 'x' };
    const completion = {
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    };
    const slow = {
      json: { error: { message: 'Slow down' } },
      status: 429,
      headers: { ...headers, 'retry-after': '3' },
    };
    backend.reply({ json: completion, headers }, slow, { json: MODELS, headers }, { json: {}, headers });
    const replies = [
      await caller.create(REQUEST),
      await caller.create(REQUEST),
      await caller.get('/v1/models'),
      await caller.get('/v1/embeddings/x'),
    ];
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 429, 200, 200]);
    expect(replies.map((reply) => reply.headers.get('x-ratelimit-remaining-requests'))).to.deep.equal([
      '49',
      '48',
      null,
      '47',
    ]);
    expect(replies[1]?.headers.get('retry-after')).to.equal('3');
    for (const reply of replies) {
      expect(reply.headers.get('x-ratelimit-reset-tokens')).to.equal(null);
      expect(reply.headers.get('ratelimit')).to.equal(null);
    }
  });

  describe('lists the models', () => {
    async function list(secret: string): Promise<readonly string[]> {
      backend.reply({ json: MODELS });
      const reply = await callerOf(gateway.url, secret).get('/v1/models');
      const { data } = (await reply.json()) as { data: { id: string }[] };
      return data.map(({ id }) => id);
    }

    it('which the key may use by either name, and no others', async () => {
      expect(await list((await gateway.issue()).secret)).to.deep.equal(['priced-1', 'priced-2', 'llama', 'fast']);
      expect(await list((await gateway.issue({ models: ['fast'] })).secret)).to.deep.equal(['fast']);
      expect(await list((await gateway.issue({ models: ['*-2'] })).secret)).to.deep.equal(['priced-2', 'fast']);
      expect(await list((await gateway.issue({ creditsMicro: 1 })).secret)).to.deep.equal([
        'priced-1',
        'priced-2',
        'fast',
      ]);
    });

    it('one by one, and says of all others only that the key may not use them', async () => {
      const { secret } = await gateway.issue({ models: ['fast', 'priced-1'] });
      const caller = callerOf(gateway.url, secret);
      backend.always({ json: { id: 'priced-2' } });
      const fast = (await (await caller.get('/v1/models/fast')).json()) as object;
      expect(fast).to.have.all.keys('id', 'price').and.include({ id: 'fast' });
      expect((await caller.get('/v1/models/priced-1')).status).to.equal(200);
      for (const model of ['llama', 'priced-2', 'unheard-of']) {
        const reply = await caller.get(`/v1/models/${model}`);
        expect(reply.status).to.equal(404);
        expect(await readError(reply)).to.deep.equal({
          code: 'model_not_found',
          type: 'invalid_request_error',
          param: 'model',
          message: 'The model does not exist, or the API key may not use it.',
        });
      }
      expect(backend.requests).to.have.lengthOf(2);
    });

    it('not at all where the list of the backend cannot be read', async () => {
      backend.reply({ json: ['llama', 'priced-1'] });
      const reply = await callerOf(gateway.url, (await gateway.issue({ models: ['fast'] })).secret).get('/v1/models');
      expect(reply.status).to.equal(502);
      expect(await reply.text()).not.to.include('llama');
    });
  });

  describe('passes other paths on', () => {
    function embed(secret: string): Promise<Response> {
      return fetch(`${gateway.url}/v1/embeddings`, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: '{"input": "Hello"}',
      });
    }

    it('with its own key, as requests of the minute', async () => {
      const { secret } = await gateway.issue({ limits: { requestsPerMinute: 2 } });
      backend.always({ json: { data: [] } });
      expect((await embed(secret)).headers.get('x-ratelimit-remaining-requests')).to.equal('1');
      expect((await embed(secret)).status).to.equal(200);
      const refused = await embed(secret);
      expect(refused.status).to.equal(429);
      expect(refused.headers.get('retry-after')).to.equal('50');
      expect(backend.requests).to.have.lengthOf(2);
      expect(backend.requests[0]?.headers.authorization).to.equal('Bearer sk-of-the-operator');
    });

    it('but not for a key which cannot pay for them', async () => {
      const reply = await embed((await gateway.issue({ creditsMicro: 1_000_000 })).secret);
      expect(reply.status).to.equal(403);
      expect(await readError(reply)).to.include({ code: 'forbidden', type: 'authentication_error' });
      expect(backend.requests).to.deep.equal([]);
    });
  });

  it('takes changes of a key by another process within a second', async () => {
    const { secret, key } = await gateway.issue({ limits: { requestsPerMinute: 5 } });
    const caller = callerOf(gateway.url, secret);
    backend.always(answer());
    await caller.create(REQUEST);
    await gateway.store.updateKey(key.keyId, { limits: { requestsPerMinute: 3 }, models: ['priced-2'] });
    nowMs += 1000;
    expect((await caller.create(REQUEST)).status).to.equal(404);
    const { headers } = await caller.create({ ...REQUEST, model: 'fast' });
    expect(headers.get('x-ratelimit-limit-requests')).to.equal('3');
    // The refused request counts as well.
    expect(headers.get('x-ratelimit-remaining-requests')).to.equal('0');
  });

  it('names a finish reason that nobody knows in the log once for its model, whichever way it was asked', async () => {
    const lines: { readonly level: number; readonly model: string; readonly finishReason: string }[] = [];
    await gateway.close();
    gateway = await openManagedGateway(
      { UPSTREAM_BASE_URL: backend.baseUrl },
      { log: createLogger('warn', { write: (line) => void lines.push(JSON.parse(line)) }) },
    );
    backend.always(answer('Hello', 'OTHER'));
    const { secret } = await gateway.issue();
    const caller = callerOf(gateway.url, secret);
    await caller.create({ ...REQUEST, stream: true });
    await caller.create(REQUEST);
    await caller.complete({ model: 'priced-2', messages: [] });
    await gateway.close();
    expect(lines.map(({ model, finishReason }) => [model, finishReason])).to.deep.equal([
      ['priced-1', 'other'],
      ['priced-2', 'other'],
    ]);
  });

  it('says the secret of a key to nobody, and its hash neither', async () => {
    await gateway.close();
    const lines: string[] = [];
    gateway = await openManagedGateway(
      {
        UPSTREAM_BASE_URL: backend.baseUrl,
        METRICS_TOKEN: ADMIN_TOKEN,
        ADMIN_TOKEN,
        PASSTHROUGH_PATHS: '/v1/embeddings',
      },
      { nowMs: () => nowMs, log: createLogger('trace', { write: (line) => void lines.push(line) }) },
    );
    backend.always(answer());
    const poor = await gateway.issue({ creditsMicro: 10 });
    const rich = await gateway.issue({ creditsMicro: 1_000_000, limits: { requestsPerMinute: 1 } });
    const late = await gateway.issue({ expiresAtMs: NOW_MS });
    const issued = [poor, rich, rich, late];
    const replies = await Promise.all([
      ...issued.map(({ secret }) => callerOf(gateway.url, secret).create(REQUEST)),
      ...issued.map(({ secret }) => callerOf(gateway.url, secret).complete({ model: 'priced-1', messages: [] })),
      ...['key', 'models', 'embeddings', 'requests', 'usage', 'nothing'].map((path) =>
        callerOf(gateway.url, rich.secret).get(`/v1/${path}`),
      ),
      ...['/metrics', '/admin/v1/keys', `/admin/v1/keys/${poor.key.keyId}/ledger`, '/admin/v1/usage'].map((path) =>
        fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } }),
      ),
      // In the place of an id.
      fetch(`${gateway.url}/admin/v1/keys/${rich.secret}`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } }),
      callerOf(gateway.url, rich.secret).get(`/v1/requests/${rich.secret}`),
    ]);
    const said = await Promise.all(
      replies.map(async (reply) => JSON.stringify([...reply.headers]) + (await reply.text())),
    );
    for (const { key } of issued) said.push(JSON.stringify(await gateway.store.list([key.keyId], { limit: 10 })));
    const everything = [...said, ...lines].join('\n');
    expect(everything).to.include(rich.secret.slice(0, 10));
    const { keySecret } = createIdentities(GATEWAY_SECRET, null);
    for (const { secret } of issued) {
      expect(everything).not.to.include(secret.slice(10));
      expect(everything).not.to.include(keySecret(secret)[0]);
    }
  });

  it('knows after a start what the running minute has seen', async () => {
    const { secret, key } = await gateway.issue({ limits: { requestsPerMinute: 5, tokensPerMinute: 10_000 } });
    backend.always(answer());
    const reply = await callerOf(gateway.url, secret).create(REQUEST);
    await callerOf(gateway.url, secret).final(reply.headers.get('x-request-id') ?? '');
    const records = { ...gateway.store, close: () => Promise.resolve() };
    const second = await openManagedGateway(
      { UPSTREAM_BASE_URL: backend.baseUrl },
      { nowMs: () => nowMs, store: records },
    );
    try {
      const shown = (await (await callerOf(second.url, secret).get('/api/v1/key')).json()) as { rate_limits: object };
      expect(shown.rate_limits).to.deep.include({
        requests_per_minute: { limit: 5, remaining: 4, resets_at: (NOW_MS + 50_000) / 1000 },
        tokens_per_minute: { limit: 10_000, remaining: 10_000 - 18, resets_at: (NOW_MS + 50_000) / 1000 },
      });
      expect(key.keyId).to.match(/^key_/);
    } finally {
      await second.close();
    }
  });
});

describe('a gateway that issues keys, when secrets change', () => {
  const headers = { 'idempotency-key': 'original' };
  let workshop: Workshop;
  let backend: ScriptedBackend;
  let gateway: TestGateway | undefined;

  beforeEach(async () => {
    workshop = makeWorkshop();
    writeFileSync(
      join(workshop.folder, 'prices.json'),
      '{"currency": "USD", "models": {"m": {"input": "2", "output": "10"}}}',
    );
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway?.close();
    await backend.close();
    await workshop.clear();
  });

  async function reopen(settings: Record<string, string>): Promise<TestGateway> {
    await gateway?.close();
    gateway = await openGateway(
      {
        UPSTREAM_BASE_URL: backend.baseUrl,
        AUTH_MODE: 'managed',
        UPSTREAM_DIALECT: 'deepseek',
        // Then nothing but the seal carries it.
        REASONING_OUTPUT: 'hidden',
        PRICES_FILE: join(workshop.folder, 'prices.json'),
        ...settings,
      },
      { store: await workshop.open() },
    );
    return gateway;
  }

  it('loses no record, no duplicate, no seal and no balance', async () => {
    const [old, young] = ['the old secret of the gateway', 'the young secret of the gateway'] as const;
    const store = await workshop.open();
    const first = issueSecret((text) => createIdentities(old, null).keySecret(text));
    const key = await store.createKey(newKeyDraft({ secret: first.kept, creditsMicro: 1_000_000 }));
    const thought = { role: 'assistant', reasoning_content: 'a thought', content: 'Hello' };
    // 11 tokens of input at 2 millionths, and 7 of output at 10.
    const costMicro = 92;
    backend.always({ json: { choices: [{ index: 0, message: thought, finish_reason: 'stop' }], usage: USAGE } });
    const request = { model: 'm', input: 'Hello', include: ['reasoning.encrypted_content'], store: false };

    let caller = callerOf((await reopen({ GATEWAY_SECRET: old })).url, first.text);
    const original = await caller.create(request, { headers });
    const { output } = (await original.json()) as { output: object[] };
    const requestId = original.headers.get('x-request-id') ?? '';
    await caller.final(requestId);

    const second = issueSecret((text) => createIdentities(old, null).keySecret(text));
    await store.rotateKey(key.keyId, second.kept, Date.now() + 60_000);
    await store.close();
    let paid = 1;
    for (const { secret, gatewaySecret } of [
      { secret: first.text, gatewaySecret: { GATEWAY_SECRET: old } },
      { secret: second.text, gatewaySecret: { GATEWAY_SECRET: old } },
      { secret: second.text, gatewaySecret: { GATEWAY_SECRET: young, GATEWAY_SECRET_PREVIOUS: old } },
    ]) {
      const { url } = await reopen(gatewaySecret);
      caller = callerOf(url, secret);
      expect((await caller.record(requestId)).status).to.equal('succeeded');
      expect((await caller.create(request, { headers })).status).to.equal(409);
      const next = { ...request, input: [...output, { role: 'user', content: 'And then?' }] };
      const continued = await caller.create(next);
      expect(continued.status).to.equal(200);
      await caller.final(continued.headers.get('x-request-id') ?? '');
      paid += 1;
      expect(await (await caller.get('/api/v1/key')).json()).to.include({ balance: 1_000_000 - paid * costMicro });
      // A key is the same caller under both secrets, and is told of nothing twice.
      const { data } = (await (await caller.get('/api/v1/requests?limit=100')).json()) as { data: object[] };
      expect(data).to.have.length(paid);
      const usage = (await (await caller.get('/api/v1/usage')).json()) as { data: { requests: number }[] };
      expect(usage.data.reduce((sum, { requests }) => sum + requests, 0)).to.equal(paid);
      const sent = backend.requests.at(-1)?.body as { messages: { reasoning_content?: string }[] };
      expect(sent.messages[0]?.reasoning_content).to.equal('a thought');
    }
    // Under the young secret alone: a key that was used is known by it from then on.
    caller = callerOf((await reopen({ GATEWAY_SECRET: young })).url, second.text);
    expect((await caller.record(requestId)).status).to.equal('succeeded');
    await gateway?.close();
    const books = expectBooksToAddUp(workshop.file, key.keyId);
    expect(books).to.include({ balanceMicro: 1_000_000 - paid * costMicro, requests: paid });
  });
});

describe('a gateway that issues keys, at its start', () => {
  let gateway: Gateway;

  beforeEach(async () => {
    gateway = await createGateway(
      readConfig({ AUTH_MODE: 'managed', PORT: '0', DATABASE_URL: ':memory:', LOG_LEVEL: 'silent', ADMIN_TOKEN }),
    );
  });

  afterEach(() => gateway.close());

  it('says whose keys hold, and that one is needed', () => {
    const banner = gateway.banner.join('\n');
    expect(banner).to.include('managed: issued by this gateway').and.to.include('GATEWAY_API_KEY=your-key');
  });

  it('says how to make the first key, until there is one', async () => {
    const { url } = await gateway.listen();
    expect(await gateway.probe()).to.match(
      /^There is no API key yet\. .* `\.\/gateway keys create --name <name>` or the admin API/,
    );
    await fetch(`${url}/admin/v1/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' },
      body: '{"name": "first"}',
    });
    expect(await gateway.probe()).to.equal(undefined);
  });
});
