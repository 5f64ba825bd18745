import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import OpenAI, { APIError } from 'openai';
import { parseRequestId } from '../../../src/core/ids.ts';
import type { GatewayOverrides } from '../../../src/gateway.ts';
import type { TestSettings } from '../../support/settings.ts';
import { API_HEADERS } from '../../../src/wire/security-headers.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Store } from '../../../src/core/books/store.ts';
import { callerOf, readError, readRecord, type Caller } from '../../records/caller.ts';
import { CAUSES, durationMs, type Recorded } from '../../records/causes.ts';
import { answer, finish, KNOWN_USAGE, stream, text, USAGE, usageChunk } from '../../records/chunks.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../../support/backend.ts';
import { passUntil, useHeldTime } from '../../support/held-time.ts';
import { kernelMayTake } from '../../support/kernel.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../../support/managed.ts';
import { casesOf, pairsOf } from '../../support/property.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { AT_ONCE_MS, allArrived, untilSteady } from '../../support/time.ts';
import { loadRecordings, readRecordedAnswer, type Recording } from '../../support/recordings.ts';

const MESSAGES = [{ role: 'user' as const, content: 'Hello' }];
const JSON_REQUEST = { model: 'm', messages: MESSAGES };
const STREAM_REQUEST = { ...JSON_REQUEST, stream: true };
const WITH_USAGE = { ...STREAM_REQUEST, stream_options: { include_usage: true } };

/** What a backend says to callers, and what tells them of the operator's account and network. */
const FOR_CALLERS = { 'retry-after': '7', 'cache-control': 'no-store', 'x-should-retry': 'false' };
const TELLTALE = {
  'x-ratelimit-remaining-requests': '7',
  'ratelimit-policy': 'x',
  'set-cookie': 'a=b',
  server: 'x',
  'openai-organization': 'org-ours',
  'x-litellm-key-spend': '12.5',
  'x-litellm-model-api-base': 'http://10.0.0.5:8000',
  'x-internal-host': 'gpu-7',
  'content-disposition': 'attachment',
  refresh: '0;url=https://evil.example',
  location: 'http://10.0.0.5/',
  link: '<http://10.0.0.5/>; rel=next',
};
const SAID = { 'x-request-id': 'up-1', ...FOR_CALLERS, ...TELLTALE };

interface Init {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

describe('chat completions which are counted', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: ManagedGateway;
  let issued: IssuedKey;
  let caller: Caller;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function open(
    settings: TestSettings = {},
    key: Parameters<ManagedGateway['issue']>[0] = {},
    overrides?: GatewayOverrides,
  ): Promise<void> {
    const defaults = { UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_API_KEY: 'sk-own-key' };
    gateway = await openManagedGateway({ ...defaults, ...settings }, overrides);
    issued = await gateway.issue(key);
    caller = callerOf(gateway.url, issued.secret);
  }

  function post(baseUrl: string, body: string | Uint8Array<ArrayBuffer>, init: Init = {}): Promise<Response> {
    return fetch(`${baseUrl}/chat/completions`, {
      ...init,
      method: 'POST',
      headers: { authorization: `Bearer ${issued.secret}`, 'content-type': 'application/json', ...init.headers },
      body,
    });
  }

  function complete(request: object | string, init?: Init): Promise<Response> {
    return post(`${gateway.url}/v1`, typeof request === 'string' ? request : JSON.stringify(request), init);
  }

  async function recordOf(reply: Response) {
    return caller.record(reply.headers.get('x-request-id') ?? '');
  }

  describe('what the backend gets', () => {
    it('is what the client wrote, byte for byte, but for the question for usage', async () => {
      await open();
      backend.reply(async ({ request, start, end }) => {
        start();
        end(`data: ${JSON.stringify(request.body)}\n\ndata: [DONE]\n\n`);
      });
      // No JSON for a reader that goes by the letter: an own key appears twice in an object that is not looked at.
      await (await complete('{"model":"m", "stream" :true,"x":{"a":1.0,"a":2}}')).text();
      expect(backend.requests[0]?.body).to.deep.equal({
        stream_options: { include_usage: true },
        model: 'm',
        stream: true,
        x: { a: 2 },
      });
    });

    it('comes with our own key, and with what the client wants', async () => {
      await open();
      backend.reply(answer());
      await (
        await complete(JSON_REQUEST, { headers: { 'openai-beta': 'a=b', cookie: 'c=d', 'x-forwarded-for': '1' } })
      ).text();
      const { headers } = backend.requests[0] ?? {};
      expect(headers).to.include({ authorization: 'Bearer sk-own-key', 'openai-beta': 'a=b', accept: '*/*' });
      expect(headers).not.to.have.any.keys('cookie', 'x-forwarded-for');
    });

    it('names the model that an alias stands for', async () => {
      await open({ MODEL_ALIASES: '{"gpt-5":"meta/llama"}' });
      backend.reply(answer());
      const reply = await complete({ ...JSON_REQUEST, model: 'gpt-5' });
      expect(backend.requests[0]?.body).to.deep.equal({ ...JSON_REQUEST, model: 'meta/llama' });
      expect((await recordOf(reply)).model).to.equal('gpt-5');
    });

    it('is unpacked', async () => {
      await open();
      backend.reply(answer());
      const body = new Uint8Array(gzipSync(JSON.stringify(JSON_REQUEST)));
      const reply = await post(`${gateway.url}/v1`, body, { headers: { 'content-encoding': 'gzip' } });
      expect(reply.status).to.equal(200);
      expect(backend.requests[0]?.body).to.deep.equal(JSON_REQUEST);
      expect(backend.requests[0]?.headers).not.to.have.property('content-encoding');
    });
  });

  describe('what the backend gets of a key with funds or limits', () => {
    const KEYS = {
      'with credits': { creditsMicro: 1_000_000 },
      'with a limit': { limits: { requestsPerMinute: 5 } },
      'with a list of models': { models: ['m'] },
    };
    for (const [kind, key] of Object.entries(KEYS)) {
      it(`is the larger limit, under the one name that the backend knows (${kind})`, async () => {
        await open({}, key);
        backend.always(answer());
        for (const request of [JSON_REQUEST, STREAM_REQUEST]) {
          await (await complete({ ...request, max_completion_tokens: 1, max_tokens: 200 })).text();
          expect(backend.requests.at(-1)?.body).to.deep.include({ ...request, max_tokens: 200 });
          expect(backend.requests.at(-1)?.body).not.to.have.property('max_completion_tokens');
        }
      });

      it(`is nothing of a request that asks for more than is reserved (${kind})`, async () => {
        await open({}, key);
        const asked = { best_of: 8, models: ['dear'], STREAM: true, service_tier: 'priority' };
        for (const [param, value] of Object.entries(asked)) {
          const reply = await complete({ ...JSON_REQUEST, [param]: value });
          expect(reply.status).to.equal(400);
          expect(await readError(reply)).to.include({ code: 'unsupported_parameter', param });
        }
        expect(backend.requests).to.have.length(0);
      });
    }

    it('is the name of its dialect', async () => {
      await open({ UPSTREAM_DIALECT: 'openai' }, { creditsMicro: 1_000_000 });
      backend.reply(answer());
      await complete({ ...JSON_REQUEST, max_tokens: 9, service_tier: 'flex' });
      expect(backend.requests[0]?.body).to.deep.equal({
        ...JSON_REQUEST,
        max_completion_tokens: 9,
        service_tier: 'flex',
      });
    });

    it('is no dearer tier of a request for a response either', async () => {
      await open({ UPSTREAM_DIALECT: 'openai' }, { creditsMicro: 1_000_000 });
      backend.always(answer());
      const request = { model: 'm', input: 'Hello', max_output_tokens: 100 };
      const reply = await caller.create({ ...request, service_tier: 'priority' });
      expect(await readError(reply)).to.include({ code: 'unsupported_parameter', param: 'service_tier' });
      expect(backend.requests).to.have.length(0);
      expect((await caller.create({ ...request, service_tier: 'flex' })).status).to.equal(200);
    });

    it('is all that it asks for where the key has neither', async () => {
      await open();
      backend.reply(answer());
      const request = {
        ...JSON_REQUEST,
        max_completion_tokens: 1,
        max_tokens: 9,
        best_of: 8,
        service_tier: 'priority',
      };
      expect((await complete(request)).status).to.equal(200);
      expect(backend.requests[0]?.body).to.deep.equal(request);
    });

    it('is nothing of a response that the chat format does not know', async () => {
      await open({ UPSTREAM_DIALECT: 'openai' }, { creditsMicro: 1_000_000 });
      backend.reply(answer());
      const extras = Object.fromEntries(
        ['N', 'n', 'max_tokens', 'n_predict', 'best_of', 'models', 'plugins', 'tags'].map((name) => [name, 9]),
      );
      const reply = await caller.create({
        ...extras,
        model: 'm',
        input: 'Hello',
        max_output_tokens: 100,
        extra_body: extras,
      });
      expect(reply.status).to.equal(200);
      expect(Object.keys(backend.requests[0]?.body as object)).to.have.members([
        'model',
        'messages',
        'stream',
        'max_completion_tokens',
      ]);
    });
  });

  describe('a request that cannot be counted', () => {
    const refused: { body: string; status: number; code: string; param: string }[] = [
      { body: '{"messages":[]}', status: 400, code: 'missing_required_parameter', param: 'model' },
      { body: '{"model":"a","model":"b"}', status: 400, code: 'invalid_request', param: 'model' },
      { body: `{"model":"m","x":"${'x'.repeat(2000)}"}`, status: 413, code: 'payload_too_large', param: '' },
    ];
    for (const { body, status, code, param } of refused) {
      it(`is refused before the backend is asked: ${body.slice(0, 40)}`, async () => {
        await open({ MAX_BODY_BYTES: '1024' });
        const reply = await complete(body);
        expect(reply.status).to.equal(status);
        expect(await readError(reply)).to.include({ code, param });
        expect(backend.requests).to.have.length(0);
      });
    }
  });

  describe('the reply', () => {
    const kinds: { what: string; reply: Reply; status: number }[] = [
      { what: 'a completion', reply: { json: { choices: [] }, headers: SAID }, status: 200 },
      { what: 'a stream', reply: { sse: [text('Hi'), finish('stop')], headers: SAID }, status: 200 },
      { what: 'a refusal', reply: { json: { error: { message: 'no' } }, status: 422, headers: SAID }, status: 422 },
    ];
    for (const { what, reply, status } of kinds) {
      it(`has the id of the record, and no header that tells of the operator: ${what}`, async () => {
        await open();
        backend.reply(reply);
        const got = await complete(JSON_REQUEST);
        await got.text();
        const headers = Object.fromEntries(got.headers);
        expect(got.status).to.equal(status);
        expect(headers['x-request-id']).to.match(/^req_/);
        expect(headers).to.include({ ...FOR_CALLERS, 'x-upstream-request-id': 'up-1' });
        expect(headers).not.to.have.any.keys(TELLTALE);
      });
    }

    it('begins with its headers before the first event', async () => {
      await open();
      backend.reply(async ({ start, hang }) => {
        start();
        await hang();
      });
      expect((await complete(STREAM_REQUEST)).status).to.equal(200);
    });

    it('does not promise the length that it had with the chunk which is left out', async () => {
      await open();
      const body = `${toEvent(text('Hi'))}${toEvent(usageChunk)}data: [DONE]\n\n`;
      const headers = { 'content-type': 'text/event-stream', 'content-length': String(body.length) };
      backend.always({ text: body, headers });
      const [shown, hidden] = [await complete(WITH_USAGE), await complete(STREAM_REQUEST)];
      expect(shown.headers.get('content-length')).to.equal(String(body.length));
      expect(await shown.text()).to.equal(body);
      expect(hidden.headers.get('content-length')).to.equal(null);
      expect(await hidden.text()).to.equal(`${toEvent(text('Hi'))}data: [DONE]\n\n`);
    });

    it('ends well when the backend says [DONE] and leaves the stream open', async () => {
      await open({ IDLE_TIMEOUT_MS: '100' });
      backend.reply(stream([text('Hi'), finish('stop'), '[DONE]'], 'hang'));
      const reply = await complete(STREAM_REQUEST);
      expect(await reply.text()).to.match(/data: \[DONE\]\n\n$/);
      expect(await recordOf(reply)).to.include({ status: 'succeeded' });
    });

    it('passes on each event as it comes', async () => {
      await open();
      const next = Promise.withResolvers<void>();
      backend.reply(async ({ sse, end }) => {
        await sse(text('Hel'));
        await next.promise;
        await sse(finish('stop'), '[DONE]');
        end();
      });
      const { body } = await complete(STREAM_REQUEST);
      const reader = body?.getReader();
      expect(Buffer.from((await reader?.read())?.value ?? []).toString()).to.equal(
        `data: ${JSON.stringify(text('Hel'))}\n\n`,
      );
      next.resolve();
      await reader?.cancel();
    });

    it('keeps the bytes of a refusal, which chat clients can read', async () => {
      await open();
      const body =
        '{ "error":{"message":"Too hot.","type":"invalid_request_error","param":"temperature","code":null} }';
      backend.reply({ text: body, status: 422, headers: { 'content-type': 'application/json', 'retry-after': '3' } });
      const reply = await complete(JSON_REQUEST);
      expect(reply.status).to.equal(422);
      expect(reply.headers.get('retry-after')).to.equal('3');
      expect(await reply.text()).to.equal(body);
      expect(await recordOf(reply)).to.deep.include({
        status: 'failed',
        endpoint: 'chat.completions',
        error: { code: 'invalid_request', message: 'The request is not valid.' },
      });
    });
  });

  describe('the official SDK', () => {
    let client: OpenAI;

    async function connect(): Promise<void> {
      await open();
      client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: issued.secret, maxRetries: 0 });
    }

    it('gets a completion', async () => {
      await connect();
      backend.reply(answer());
      const { data, request_id: id } = await client.chat.completions.create(JSON_REQUEST).withResponse();
      expect(data.choices[0]?.message.content).to.equal('Hello');
      expect(data.usage).to.deep.equal(USAGE);
      expect(await caller.record(id ?? '')).to.deep.include({ status: 'succeeded', stream: false, usage: KNOWN_USAGE });
    });

    for (const asked of [true, false]) {
      it(`gets a stream, ${asked ? 'with the usage it asked for' : 'without usage'}`, async () => {
        await connect();
        backend.reply(answer());
        const { data, request_id: id } = await client.chat.completions
          .create({ ...JSON_REQUEST, stream: true, ...(asked && { stream_options: { include_usage: true } }) })
          .withResponse();
        const said: unknown[] = [];
        for await (const { choices, usage } of data) said.push(usage ?? choices[0]?.delta);
        expect(said).to.deep.equal([{ content: 'Hello' }, {}, ...(asked ? [USAGE] : [])]);
        expect(await caller.record(id ?? '')).to.deep.include({
          status: 'succeeded',
          stream: true,
          usage: KNOWN_USAGE,
          usage_estimated: false,
        });
      });
    }

    /** As no program of ours would write it. */
    const odd = {
      json: '{ "id":"x","usage" : {"prompt_tokens":11,"completion_tokens":7 ,"total_tokens":18},"vendor":{"a":1.0,"é":"\\u00e9"},\r\n "choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi"}}]}\n',
      before: ': hi\r\n\r\nid: 7\r\ndata: {"choices":[{"index":0,"delta":{"content":"Hi"}}] , "vendor":1.0}\r\n\r\n',
      usage: `data:${JSON.stringify(usageChunk)}\r\n\r\n`,
      after: 'data: [DONE]\r\n\r\n',
    };
    const sent = odd.before + toEvent(finish('stop')) + odd.usage + odd.after;
    const shown: { name: string; request: typeof JSON_REQUEST; body: string; seen: string }[] = [
      { name: 'a completion', request: JSON_REQUEST, body: odd.json, seen: odd.json },
      { name: 'a stream with usage', request: WITH_USAGE, body: sent, seen: sent },
      {
        name: 'a stream without usage, but for its chunk',
        request: STREAM_REQUEST,
        body: sent,
        seen: sent.replace(odd.usage, ''),
      },
    ];
    for (const { name, request, body, seen } of shown) {
      it(`gets the bytes of the backend and the headers that concern it: ${name}`, async () => {
        await connect();
        const headers = {
          'content-type': request === JSON_REQUEST ? 'application/json; charset=UTF-8' : 'text/event-stream',
          'x-vendor': 'a, b',
          'x-request-id': 'up-1',
          'x-ratelimit-limit-tokens': '7',
          'set-cookie': 'a=b',
          server: 'x',
        };
        backend.always({ text: body, headers });
        const direct = new OpenAI({ baseURL: backend.baseUrl, apiKey: 'sk-own-key', maxRetries: 0 });
        const [plain, through] = await Promise.all(
          [direct, client].map((sdk) => sdk.chat.completions.create(request).asResponse()),
        );
        expect(await plain?.text()).to.equal(body);
        expect(await through?.text()).to.equal(seen);
        const added = ['x-request-id', 'x-upstream-request-id', ...Object.keys(API_HEADERS)];
        const removed = ['x-request-id', 'x-ratelimit-limit-tokens', 'x-vendor', 'set-cookie', 'server'];
        // Those of one connection, and the length that differs where a chunk is left out.
        const ofConnection = ['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length'];
        const without = (reply: Response | undefined, names: readonly string[]) =>
          Object.fromEntries([...(reply?.headers ?? [])].filter(([header]) => !names.includes(header)));
        expect(without(through, [...added, ...ofConnection])).to.deep.equal(
          without(plain, [...removed, ...ofConnection]),
        );
        expect(through?.headers.get('x-upstream-request-id')).to.equal('up-1');
      });
    }

    it('throws when its stream is cancelled', async () => {
      await connect();
      backend.reply(stream([text('Hello')], 'hang'));
      const { data, request_id: id } = await client.chat.completions
        .create({ ...JSON_REQUEST, stream: true })
        .withResponse();
      const read = async (): Promise<void> => {
        for await (const chunk of data) if (chunk.choices.length > 0) await caller.cancel(id ?? '');
      };
      const error = await read().catch((error: unknown) => error);
      expect(error).to.be.instanceOf(APIError).and.to.include({ code: 'request_cancelled' });
      expect(await caller.final(id ?? '')).to.include({ status: 'cancelled', usage_estimated: true });
    });
  });

  describe('the record', () => {
    // Our own key is what a backend judges here, headers are not held back, and calls are not read.
    const causes = CAUSES.filter(
      ({ cause }) =>
        !/to the caller's key|after the headers|key that expires|answers 402|within its arguments/.test(cause),
    );
    const passTime = useHeldTime();

    for (const [kind, { cause, settings, backend: script, ...rows }] of pairsOf(['json', 'stream'] as const, causes)) {
      const { record, key, shouldRetry } = rows[kind];
      it(`after ${cause} (${kind})`, async () => {
        await open(ownKeyOnly(settings));
        backend.reply(script);
        backend.always(answer());
        const request = kind === 'stream' ? STREAM_REQUEST : JSON_REQUEST;
        const headers = { 'idempotency-key': 'key-1' };
        const asking = complete(request, { headers });
        await backend.request(1);
        await passTime(durationMs(settings));
        const reply = await asking;
        if (!reply.ok) expect(reply.headers.get('x-should-retry')).to.equal(shouldRetry ?? null);
        await reply.text().catch(() => undefined);
        await expectRecorded(reply.headers.get('x-request-id') ?? '', record);
        const again = await complete(request, { headers });
        expect(again.status).to.equal(key === 'kept' ? 409 : 200);
      });
    }

    async function expectRecorded(id: string, expected: Recorded | 'none'): Promise<void> {
      if (expected === 'none') throw new Error('a record is never taken back here');
      const record = await caller.record(id);
      expect(record.endpoint).to.equal('chat.completions');
      expect({
        status: record.status,
        code: record.error?.code,
        incomplete: record.incomplete_details?.reason,
        usage: record.usage === null ? 'none' : record.usage_estimated ? 'estimated' : 'known',
      }).to.deep.equal({ code: undefined, incomplete: undefined, ...expected });
      if (expected.usage === 'known') expect(record.usage).to.deep.equal(KNOWN_USAGE);
      if (expected.usage === 'estimated') expect(record.usage?.input_tokens).to.be.within(1, 100);
    }
  });

  describe('a client that goes away', () => {
    const moments: { when: string; script: Reply; usage: 'known' | 'estimated' }[] = [
      { when: 'before the first byte', script: ({ hang }) => hang(), usage: 'estimated' },
      { when: 'in the middle of the text', script: stream([text('Hello, world')], 'hang'), usage: 'estimated' },
      { when: 'after the usage', script: stream([text('Hello'), usageChunk], 'hang'), usage: 'known' },
    ];
    for (const { when, script, usage } of moments) {
      for (const request of [JSON_REQUEST, STREAM_REQUEST]) {
        it(`${when} stops the backend (${request === JSON_REQUEST ? 'json' : 'stream'})`, async () => {
          await open();
          backend.reply(script);
          const headers = { 'idempotency-key': 'key-1' };
          const client = new AbortController();
          const gone = complete(request, { headers, signal: client.signal }).then(
            (reply) => reply.text(),
            () => undefined,
          );
          const asked = await backend.request(1);
          await allArrived();
          const leftAtMs = performance.now();
          client.abort();
          await gone.catch(() => undefined);
          const { aborted, atMs } = await asked.closed;
          expect(aborted).to.equal(true);
          expect(atMs - leftAtMs).to.be.below(AT_ONCE_MS);
          const { request_id: id } = await readRecord(await caller.get('/api/v1/requests', headers));
          const record = await caller.final(id);
          expect(record).to.deep.include({ status: 'cancelled', usage_estimated: usage === 'estimated' });
          expect(record.error?.code).to.equal('client_disconnected');
          expect((await complete(request, { headers })).status).to.equal(409);
        });
      }
    }

    describe('by not reading', () => {
      useHeldTime();

      it('slows the backend down, and is cut off in the end', async () => {
        await open({ IDLE_TIMEOUT_MS: '500' });
        const piece = Buffer.from(`data: ${JSON.stringify(text('x'.repeat(64 * 1024)))}\n\n`);
        const whole = 2 * kernelMayTake() + 16 * 1024 * 1024;
        backend.reply(async ({ start, write }) => {
          start();
          for (let sent = 0; sent < whole; sent += piece.length) if (!(await write(piece))) return;
        });
        const req = httpRequest(`${gateway.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${issued.secret}`, 'content-type': 'application/json' },
        });
        req.on('error', () => undefined);
        req.end(JSON.stringify(STREAM_REQUEST));
        const [response] = (await once(req, 'response')) as [IncomingMessage];
        response.on('error', () => undefined).pause();
        expect(await untilSteady(() => backend.bytesSent)).to.be.below(whole);
        const asked = await backend.request(1);
        await passUntil(asked.closed, 250);
        const record = await caller.final(String(response.headers['x-request-id']));
        expect(record).to.deep.include({ status: 'cancelled', usage_estimated: true });
        expect((await asked.closed).aborted).to.equal(true);
        req.destroy();
      });
    });
  });

  describe('a repeated request', () => {
    it('is answered with the record of the first, while it runs and after it', async () => {
      await open();
      backend.reply(stream([text('Hello')], 'hang'));
      const headers = { 'idempotency-key': 'key-1' };
      const client = new AbortController();
      const first = await complete(STREAM_REQUEST, { headers, signal: client.signal });
      const id = first.headers.get('x-request-id');
      for (const status of ['processing', 'cancelled']) {
        const again = await complete(STREAM_REQUEST, { headers });
        expect(again.status).to.equal(409);
        expect(again.headers.get('idempotency-replayed')).to.equal('true');
        expect(await again.json()).to.deep.include({ request_id: id, status, endpoint: 'chat.completions' });
        client.abort();
        await caller.final(id ?? '');
      }
      expect(backend.requests).to.have.length(1);
    });
  });

  describe('a cancel', () => {
    it('of a JSON request is told by 409', async () => {
      await open();
      backend.reply(({ hang }) => hang());
      const headers = { 'idempotency-key': 'key-1' };
      const asking = complete(JSON_REQUEST, { headers });
      await backend.request(1);
      const { request_id: id } = await readRecord(await caller.get('/api/v1/requests', headers));
      expect((await caller.cancel(id)).status).to.equal(202);
      const reply = await asking;
      expect(reply.status).to.equal(409);
      expect(reply.headers.get('x-should-retry')).to.equal('false');
      expect((await readError(reply)).code).to.equal('request_cancelled');
      expect(await caller.record(id)).to.deep.include({ status: 'cancelled', usage_estimated: true });
      expect((await backend.requests[0]?.closed)?.aborted).to.equal(true);
    });

    it('of a JSON reply whose beginning has come is told by 409 as well', async () => {
      await open();
      backend.reply(async ({ start, write, hang }) => {
        start(200, { 'content-type': 'application/json' });
        await write('{"choices":');
        await hang();
      });
      const headers = { 'idempotency-key': 'key-1' };
      const asking = complete(JSON_REQUEST, { headers });
      await backend.request(1);
      await allArrived();
      const { request_id: id } = await readRecord(await caller.get('/api/v1/requests', headers));
      await caller.cancel(id);
      expect((await readError(await asking)).code).to.equal('request_cancelled');
    });

    for (const request of [STREAM_REQUEST, WITH_USAGE]) {
      it(`of a stream is told by an error event (${request === WITH_USAGE ? 'usage asked for' : 'usage hidden'})`, async () => {
        await open();
        backend.reply(stream([text('Hello')], 'hang'));
        const reply = await complete(request);
        const id = reply.headers.get('x-request-id') ?? '';
        await backend.request(1);
        await allArrived();
        expect((await caller.cancel(id)).status).to.equal(202);
        const events = (await reply.text()).split('\n\n');
        expect(events).to.have.length(3);
        expect(events[0]).to.equal(`data: ${JSON.stringify(text('Hello'))}`);
        expect(JSON.parse(events[1]?.replace(/^data: /, '') ?? '')).to.deep.equal({
          error: {
            message: 'The request was cancelled.',
            type: 'invalid_request_error',
            param: '',
            code: 'request_cancelled',
          },
        });
        const record = await caller.record(id);
        expect(record).to.deep.include({ status: 'cancelled', usage_estimated: true });
        expect(record.usage?.output_tokens).to.be.above(0);
      });
    }

    const moments: { pieces: readonly string[]; between: boolean }[] = [
      { pieces: [], between: true },
      { pieces: ['data: {}\n\n'], between: true },
      { pieces: ['data: {}\r\n\r\n'], between: true },
      { pieces: ['data: {}\r\r'], between: true },
      { pieces: ['data: {}\r', '\n', '\r', '\n'], between: true },
      { pieces: [': hi\n\n', '\n'], between: true },
      { pieces: ['data: {}\n'], between: false },
      { pieces: ['data: {}\r\n'], between: false },
      { pieces: ['data: {}\n\n', 'd'], between: false },
      { pieces: ['data: {"choices":['], between: false },
    ];
    for (const { pieces, between } of moments) {
      it(`after ${JSON.stringify(pieces)} ${between ? 'is told by an error event' : 'breaks the connection'}`, async () => {
        await open();
        const written = Promise.withResolvers<void>();
        backend.reply(async ({ start, write, hang }) => {
          start();
          for (const piece of pieces) {
            await write(piece);
            await allArrived();
          }
          written.resolve();
          await hang();
        });
        const reply = await complete(WITH_USAGE);
        await written.promise;
        await caller.cancel(reply.headers.get('x-request-id') ?? '');
        const body = await reply.text().catch(() => 'broken');
        if (!between) expect(body).to.equal('broken');
        else expect(body).to.match(/^data: \{"error":.*"code":"request_cancelled"\}\}\n\n$/m);
      });
    }
  });

  describe('a cancel of which the store takes its time to decide', () => {
    /** A store that is slow to say whether a cancel came in time; `asked` resolves when it was asked. */
    async function openSlow(): Promise<{ asked: Promise<void>; decide: () => void }> {
      const asked = Promise.withResolvers<void>();
      const decided = Promise.withResolvers<void>();
      const store: Store = await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30 });
      const requestCancel: Store['requestCancel'] = async (...request) => {
        const answered = store.requestCancel(...request);
        asked.resolve();
        await decided.promise;
        return answered;
      };
      await open({}, {}, { store: { ...store, requestCancel } });
      return { asked: asked.promise, decide: decided.resolve };
    }

    it('holds up the end of a stream too', async () => {
      const { asked, decide } = await openSlow();
      const go = Promise.withResolvers<void>();
      backend.reply(async ({ sse, end }) => {
        await sse(text('Hello'));
        await go.promise;
        await sse(finish('stop'), '[DONE]');
        end();
      });
      const reply = await complete(STREAM_REQUEST);
      const id = reply.headers.get('x-request-id') ?? '';
      const cancelling = caller.cancel(id);
      await asked;
      go.resolve();
      await allArrived();
      decide();
      expect((await cancelling).status).to.equal(202);
      expect(await reply.text())
        .to.contain('request_cancelled')
        .and.not.to.contain('[DONE]');
      expect((await caller.record(id)).status).to.equal('cancelled');
    });

    const whole = answer();
    const refusal: Reply = ({ start, end }) => {
      start(400, { 'content-type': 'application/json' });
      end('{"error":{"message":"no"}}');
    };
    for (const [what, finale] of Object.entries({ 'a whole answer': whole, 'a refusal': refusal })) {
      it(`holds up ${what}, since the client is told what its record says`, async () => {
        const { asked, decide } = await openSlow();
        const go = Promise.withResolvers<void>();
        backend.reply(async (stage) => {
          await go.promise;
          await finale(stage);
        });
        const headers = { 'idempotency-key': 'key-1' };
        const asking = complete(JSON_REQUEST, { headers });
        await backend.request(1);
        const { request_id: id } = await readRecord(await caller.get('/api/v1/requests', headers));
        const cancelling = caller.cancel(id);
        await asked;
        go.resolve();
        await allArrived();
        decide();
        expect((await cancelling).status).to.equal(202);
        const reply = await asking;
        expect({ status: reply.status, code: (await readError(reply)).code }).to.deep.equal({
          status: 409,
          code: 'request_cancelled',
        });
        expect((await caller.record(id)).status).to.equal('cancelled');
      });
    }
  });

  describe('a drain', () => {
    it('ends by an error event what does not end in time', async () => {
      const store = await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30 });
      await open({ DRAIN_TIMEOUT_MS: '50' }, {}, { store: { ...store, close: () => Promise.resolve() } });
      backend.reply(stream([text('Hello')], 'hang'));
      const reply = await complete(STREAM_REQUEST);
      await backend.request(1);
      await allArrived();
      const drained = gateway.drain();
      expect((await complete(JSON_REQUEST)).status).to.equal(503);
      expect(await reply.text()).to.contain('"code":"gateway_interrupted"');
      await drained;
      const id = parseRequestId(reply.headers.get('x-request-id') ?? '');
      const record = id && (await store.find([issued.key.keyId], id));
      await store.close();
      expect(record).to.include({ status: 'failed', errorCode: 'gateway_interrupted', usageEstimated: true });
    });
  });

  it('is whole after the finish reason, also if the backend breaks off before it says so', async () => {
    await open();
    backend.reply(stream([text('Hi'), finish('stop')], 'cut'));
    const reply = await complete(STREAM_REQUEST);
    expect(await reply.text()).to.match(/"finish_reason":"stop".*\n\ndata: \[DONE\]\n\n$/);
    expect(await recordOf(reply)).to.include({ status: 'succeeded' });
  });

  describe('the credits', () => {
    const CREDITS = 10_000;
    /** 11 tokens of input at 2, and 7 of output at 10. */
    const KNOWN_COST = 92;

    async function funds() {
      const key = await gateway.store.findKey(issued.key.keyId);
      const ledger = await gateway.store.listLedger(issued.key.keyId, { limit: 100 });
      const entries = ledger?.entries ?? [];
      expect(key?.heldMicro, 'what is held').to.equal(0);
      expect(entries.reduce((sum, { amountMicro }) => sum + amountMicro, 0)).to.equal(key?.balanceMicro);
      return { spent: CREDITS - (key?.balanceMicro ?? 0), kinds: entries.map(({ kind }) => kind) };
    }

    const ends: { what: string; script: Reply; cost: number | 'estimated' }[] = [
      { what: 'an answer', script: answer(), cost: KNOWN_COST },
      { what: 'an answer without usage', script: answer('Hello', 'stop', null), cost: 'estimated' },
      { what: 'a stream that is cut', script: stream([text('Hello')], 'cut'), cost: 'estimated' },
      { what: 'a refusal', script: { json: { error: { message: 'no' } }, status: 400 }, cost: 0 },
      { what: 'a failure of the backend', script: { json: {}, status: 500 }, cost: 0 },
    ];
    for (const { what, script, cost } of ends) {
      for (const request of [JSON_REQUEST, STREAM_REQUEST]) {
        it(`are charged once for ${what} (${request === JSON_REQUEST ? 'json' : 'stream'})`, async () => {
          await open({}, { creditsMicro: CREDITS });
          backend.reply(script);
          const reply = await complete({ ...request, max_tokens: 100 });
          await reply.text().catch(() => undefined);
          const record = await recordOf(reply);
          const { spent } = await funds();
          if (cost === 'estimated') expect(spent).to.be.within(1, 500);
          else expect(spent).to.equal(cost);
          expect(record.cost ?? 0).to.equal(spent);
        });
      }
    }

    it('are charged for what was used until a cancel', async () => {
      await open({}, { creditsMicro: CREDITS });
      backend.reply(stream([text('Hello'), usageChunk], 'hang'));
      const reply = await complete({ ...STREAM_REQUEST, max_tokens: 100 });
      await backend.request(1);
      await allArrived();
      await caller.cancel(reply.headers.get('x-request-id') ?? '');
      await reply.text();
      expect((await funds()).spent).to.equal(KNOWN_COST);
    });

    it('must cover all choices at once', async () => {
      await open({}, { creditsMicro: CREDITS });
      backend.always(answer());
      // 900 tokens of output at 10 each, and some of input.
      expect((await complete({ ...JSON_REQUEST, max_tokens: 300, n: 3 })).status).to.equal(200);
      const reply = await complete({ ...JSON_REQUEST, max_completion_tokens: 300, n: 4 });
      expect(reply.status).to.equal(402);
      expect((await readError(reply)).code).to.equal('insufficient_credits');
      expect(backend.requests).to.have.length(1);
    });

    it('are reserved as for a request without a limit where it names -1', async () => {
      await open({ DEFAULT_MAX_OUTPUT_TOKENS: '5000' }, { creditsMicro: CREDITS });
      expect((await complete({ ...JSON_REQUEST, max_tokens: -1 })).status).to.equal(402);
    });

    it('are not touched by a duplicate, which is answered when they are gone too', async () => {
      await open({}, { creditsMicro: 1200 });
      backend.always(answer());
      const headers = { 'idempotency-key': 'key-1' };
      const request = { ...JSON_REQUEST, max_tokens: 100 };
      expect((await complete(request, { headers })).status).to.equal(200);
      expect((await complete({ ...request, n: 2 }, { headers })).status).to.equal(402);
      expect((await complete(request, { headers })).status).to.equal(409);
    });

    it('are those of responses as well', async () => {
      await open({}, { creditsMicro: CREDITS });
      backend.always(answer());
      await complete({ ...JSON_REQUEST, max_tokens: 100 });
      await caller.create({ model: 'm', input: 'Hello', max_output_tokens: 100 });
      expect((await funds()).spent).to.equal(2 * KNOWN_COST);
    });
  });

  describe('the limits', () => {
    const limits = { requestsPerMinute: 2 };

    it('are those of the key, on both endpoints, and never those of our account at the backend', async () => {
      await open({}, { limits });
      backend.always({
        json: { choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }] },
        headers: { 'x-ratelimit-remaining-requests': '4711', 'x-ratelimit-remaining-tokens': '4711' },
      });
      const replies = [
        await complete(JSON_REQUEST),
        await caller.create({ model: 'm', input: 'Hello' }),
        await complete(JSON_REQUEST),
      ];
      expect(replies.map(({ status }) => status)).to.deep.equal([200, 200, 429]);
      expect(replies.map(({ headers }) => headers.get('x-ratelimit-remaining-requests'))).to.deep.equal([
        '1',
        '0',
        '0',
      ]);
      for (const { headers } of replies) expect(headers.get('x-ratelimit-remaining-tokens')).to.equal(null);
      expect(backend.requests).to.have.length(2);
    });

    it('of the models of the key hold', async () => {
      await open({}, { models: ['other'] });
      const reply = await complete(JSON_REQUEST);
      expect(reply.status).to.equal(404);
      expect((await readError(reply)).code).to.equal('model_not_found');
    });
  });

  describe('the path', () => {
    it('is there under /api/v1 as well, for a POST', async () => {
      await open();
      backend.always(answer());
      expect((await post(`${gateway.url}/api/v1`, JSON.stringify(JSON_REQUEST))).status).to.equal(200);
      const got = await caller.get('/v1/chat/completions');
      expect(got.status).to.equal(405);
      expect(got.headers.get('allow')).to.equal('POST');
    });
  });

  describe('several choices', () => {
    const choice = (index: number, content: string, reason: string | null = null): object => ({
      choices: [{ index, delta: { content }, finish_reason: reason }],
    });

    it('are counted together', async () => {
      await open();
      backend.reply({
        sse: [choice(0, 'x'.repeat(400)), choice(1, 'x'.repeat(400)), choice(0, '', 'stop'), choice(1, '', 'length')],
      });
      const reply = await complete({ ...STREAM_REQUEST, n: 2 });
      await reply.text();
      const record = await recordOf(reply);
      expect(record).to.deep.include({ status: 'succeeded', incomplete_details: { reason: 'max_output_tokens' } });
      expect(record.usage?.output_tokens).to.equal(200);
    });

    it('make a failure of a stream which ends before all of them have', async () => {
      await open();
      backend.reply({ sse: [choice(0, 'a'), choice(1, 'b'), choice(0, '', 'stop')], done: false });
      const reply = await complete({ ...STREAM_REQUEST, n: 2 });
      expect(await reply.text().catch(() => 'broken')).to.equal('broken');
      expect(await recordOf(reply)).to.include({ status: 'failed' });
    });
  });

  describe('a stream that breaks at the backend', () => {
    it('breaks at the client also if HTTP ends it properly', async () => {
      await open();
      backend.reply({ sse: [text('Hello')], done: false });
      const reply = await complete(STREAM_REQUEST);
      expect(await reply.text().catch(() => 'broken')).to.equal('broken');
      expect(await recordOf(reply)).to.include({ status: 'failed' });
    });
  });

  describe('bytes', () => {
    const recordings = casesOf(loadRecordings());
    before(() => console.log(`\n  ${recordings.length} recordings are passed on as chat completions`));

    /** The same events without those which hold nothing but usage, found in another way than the gateway finds them. */
    function withoutUsage(body: string): string {
      const events = body.split(/(?<=\r?\n\r?\n)/);
      return events.filter((event) => !isUsage(event.replace(/^data: ?/, ''))).join('');
    }

    function isUsage(data: string): boolean {
      try {
        const { choices, usage } = JSON.parse(data) as { choices?: unknown[]; usage?: object | null };
        return choices?.length === 0 && typeof usage === 'object' && usage !== null;
      } catch {
        return false;
      }
    }

    async function readPieces(reply: Response): Promise<{ readonly got: string; readonly isBroken: boolean }> {
      const decoder = new TextDecoder();
      let got = '';
      try {
        for await (const piece of reply.body ?? []) got += decoder.decode(piece, { stream: true });
        return { got, isBroken: false };
      } catch {
        return { got, isBroken: true };
      }
    }

    function play({ status, contentType, body }: Recording): Reply {
      return async ({ start, drip, end }) => {
        start(status, { 'content-type': contentType });
        await drip(body, { pieceBytes: Math.ceil(body.length / 7), everyMs: 1 });
        end();
      };
    }

    for (const recording of recordings) {
      it(`of ${recording.name} are the backend's own`, async () => {
        await open();
        backend.always(play(recording));
        const isStream = recording.contentType === 'text/event-stream';
        const direct = await post(backend.baseUrl, '{}');
        const expected = await direct.text();
        for (const request of isStream ? [WITH_USAGE, STREAM_REQUEST] : [JSON_REQUEST]) {
          const reply = await complete(request);
          const { got, isBroken } = await readPieces(reply);
          const { status, usage } = await recordOf(reply);
          if (isBroken) expect(status).to.equal('failed');
          if (!direct.ok) {
            expect(reply.status).to.be.at.least(400);
            if (reply.status === direct.status) expect(got).to.equal(expected);
            expect(status).to.equal('failed');
            continue;
          }
          expect(reply.status).to.equal(direct.status);
          expect(got).to.equal(request === STREAM_REQUEST ? withoutUsage(expected) : expected);
          const said = readRecordedAnswer(recording.body);
          if (said.usage !== null && status === 'succeeded') expect(usage).to.deep.equal(said.usage);
        }
      });
    }
  });
});

/** The mode of the keys is what this file is about. */
function ownKeyOnly({ AUTH_MODE: _mode, API_KEYS: _keys, ...settings }: TestSettings = {}): TestSettings {
  return settings;
}

function toEvent(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}
