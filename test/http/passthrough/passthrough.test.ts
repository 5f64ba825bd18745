import { DEFAULT_POLICY } from '../../../src/config/backends-file.ts';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request as httpRequest, type ClientRequest, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { openOnlyBackend } from '../../support/only-backend.ts';
import express from 'express';
import { NO_CALLERS } from '../../../src/accounts/accepted-callers.ts';
import { ADMIT_ALL } from '../../../src/accounts/admission.ts';
import { createFailover } from '../../../src/backend/failover.ts';
import { createForward, type ForwardOptions } from '../../../src/backend/forward/forward.ts';
import { createPrices } from '../../../src/core/money/pricing.ts';
import { authenticate, createAuthenticator } from '../../../src/access/authenticate.ts';
import { errorHandler } from '../../../src/http/error-handler.ts';
import { notFound } from '../../../src/wire/no-route.ts';
import { createPassthrough, type PassthroughOptions } from '../../../src/http/passthrough/passthrough.ts';
import { createIdentities } from '../../../src/identity/identities.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { observe } from '../../support/observe.ts';
import { routeChat } from '../../../src/requests/preparation/route.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { passUntil, useHeldTime } from '../../support/held-time.ts';
import { useJumps } from '../../support/jump-time.ts';
import { kernelMayTake } from '../../support/kernel.ts';
import { AT_ONCE_MS, allArrived, until, untilSteady } from '../../support/time.ts';

const KEY = 'sk-caller-1';
interface Init extends RequestInit {
  readonly headers?: Record<string, string>;
}

const COMPLETION = { id: 'chatcmpl-1', object: 'chat.completion', choices: [] };

describe('passthrough', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let forwarder: ReturnType<typeof createForward> | undefined;
  let server: Server | undefined;
  let url: string;
  let problems: string[];

  beforeEach(async () => {
    backend = await startScriptedBackend();
    problems = [];
  });

  afterEach(async () => {
    forwarder?.close();
    server?.closeAllConnections();
    server?.close();
    if (server?.listening === true) await once(server, 'close');
    await backend.close();
  });

  type Options = Partial<ForwardOptions & PassthroughOptions> & {
    upstreamApiKey?: string;
    modelAliases?: ReadonlyMap<string, string>;
  };

  async function open(options: Options = {}): Promise<void> {
    const ownKey = options.upstreamApiKey;
    const opened = createForward({
      baseUrl: backend.baseUrl,
      keyOwner: ownKey === undefined ? 'caller' : 'gateway',
      connectTimeoutMs: 60_000,
      firstByteTimeoutMs: 60_000,
      idleTimeoutMs: 60_000,
      onOperatorProblem: (problem) => problems.push(problem),
      ...options,
    });
    forwarder = opened;
    const backends = openOnlyBackend(
      {
        apiKey: ownKey ?? null,
        ...(options.modelAliases !== undefined && { modelAliases: options.modelAliases }),
      },
      { forward: (...asked) => opened.forward(...asked) },
    );
    const passthrough = createPassthrough({
      backends,
      failover: createFailover({
        backends,
        policy: () => DEFAULT_POLICY,
        firstByteTimeoutMs: options.firstByteTimeoutMs ?? 60_000,
        headerHoldMs: 0,
        nowMs: () => 0,
      }),
      clientStallMs: options.idleTimeoutMs ?? 60_000,
      passthroughPaths: [],
      policy: () => DEFAULT_POLICY,
      models: { present: null },
      prices: { present: null },
      refusals: { any: () => false, forModel: () => [] },
      maxBodyBytes: 1024 * 1024,
      admission: ADMIT_ALL,
      keyOwner: ownKey === undefined ? 'caller' : 'gateway',
      preparation: {
        checksUrls: false,
        route: async ({ body, caller }) =>
          routeChat(body.bytes, caller.identity, { ...backends, imageUrls: 'any', authMode: 'static' }),
      },
      steadyMs: Date.now,
      ...options,
    });
    const app = express();
    app.disable('etag');
    app.use(observe());
    app.use(
      ['/api/v1', '/v1'],
      authenticate(
        createAuthenticator({
          authMode: ownKey === undefined ? 'passthrough' : 'static',
          apiKeys: [KEY],
          accounts: { findKeyByHash: () => Promise.resolve(undefined) },
          acceptedCallers: NO_CALLERS,
          identities: createIdentities('a secret of ours', null),
          nowMs: Date.now,
        }),
      ),
      passthrough,
    );
    app.use(notFound, errorHandler);
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  function call(path: string, init: Init = {}): Promise<Response> {
    return fetch(`${url}${path}`, { ...init, headers: { authorization: `Bearer ${KEY}`, ...init.headers } });
  }

  function chat(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): Promise<Response> {
    return call('/v1/chat/completions', {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
  }

  /** By node:http, which lets a test see every byte and break off where it likes. */
  function start(
    body: string,
    headers: Record<string, string> = {},
    send = (asked: ClientRequest): unknown => asked.end(body),
  ): ClientRequest {
    const req = httpRequest(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', ...headers },
    });
    req.on('error', () => {});
    send(req);
    return req;
  }

  async function errorOf(response: Response): Promise<Record<string, unknown>> {
    const body = (await response.json()) as { error: Record<string, unknown> };
    expect(body.error).to.have.all.keys('message', 'type', 'param', 'code');
    return { status: response.status, ...body.error };
  }

  describe('for five minutes', () => {
    const jump = useJumps();

    it('uses a connection again, so that what balances connections decides again', async () => {
      await open();
      for (const aheadMs of [0, 299_000, 1000, 0, 0]) {
        backend.reply({ json: COMPLETION });
        jump(aheadMs);
        expect((await chat('{"model":"m"}')).status).to.equal(200);
        await allArrived();
      }
      // The third request ends when its connection is old.
      expect(backend.requests.map(({ connection }) => connection)).to.deep.equal([0, 0, 0, 1, 1]);
    });
  });

  describe('on its way to the backend', () => {
    for (const prefix of ['/v1', '/api/v1']) {
      it(`passes ${prefix}/chat/completions on, with the bytes as they are`, async () => {
        await open();
        backend.reply({ json: COMPLETION });
        const response = await call(`${prefix}/chat/completions?a=b`, {
          method: 'POST',
          body: '{ "model":\t"m" , not json',
        });
        expect(await response.json()).to.deep.equal(COMPLETION);
        expect(backend.requests[0]).to.include({
          method: 'POST',
          path: '/v1/chat/completions?a=b',
          body: '{ "model":\t"m" , not json',
        });
      });
    }

    it('puts the query of the base URL in front of that of the request', async () => {
      await open({ baseUrl: `${backend.baseUrl}/?api-version=7` });
      backend.always({ json: {} });
      await chat('{}');
      await call('/v1/models?limit=1');
      expect(backend.requests.map(({ path }) => path)).to.deep.equal([
        '/v1/chat/completions?api-version=7',
        '/v1/models?api-version=7&limit=1',
      ]);
    });

    it('passes on nothing but the headers of its list', async () => {
      await open();
      backend.reply({ json: {} });
      const req = start('{}', {
        cookie: 'a=b',
        accept: 'application/json',
        'user-agent': 'test',
        'x-forwarded-for': '1.2.3.4',
        'x-stainless-lang': 'js',
        'openai-beta': 'x=v1',
        'x-api-key': 'k',
        'idempotency-key': 'i',
        'content-length': '2',
        expect: '100-continue',
      });
      await once(req, 'response');
      const { host: _host, connection: _connection, ...headers } = backend.requests[0]?.headers ?? {};
      expect(headers).to.deep.equal({
        accept: 'application/json',
        'accept-encoding': 'identity',
        authorization: `Bearer ${KEY}`,
        'content-length': '2',
        'content-type': 'application/json',
        'openai-beta': 'x=v1',
        'user-agent': 'test',
      });
      expect(backend.requests[0]?.headers.host).to.equal(`127.0.0.1:${backend.port}`);
    });

    it('shows the backend the key of the gateway where the caller has one of the gateway', async () => {
      await open({ upstreamApiKey: 'sk-upstream' });
      backend.reply({ json: {} });
      await chat('{}');
      expect(backend.requests[0]?.headers.authorization).to.equal('Bearer sk-upstream');
    });

    it('passes a body on whose length is not known before', async () => {
      await open();
      backend.reply({ json: {} });
      const req = httpRequest(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}` },
      });
      req.write('{"a":');
      await allArrived();
      req.end('1}');
      await once(req, 'response');
      expect(backend.requests[0]?.body).to.deep.equal({ a: 1 });
    });

    it('uses a connection again', async () => {
      await open();
      backend.always({ json: {} });
      await (await chat('{}')).text();
      await (await chat('{}')).text();
      expect(backend.requests.map(({ connection }) => connection)).to.deep.equal([0, 0]);
    });

    it('passes further paths on as it is told, with what is below them', async () => {
      await open({ passthroughPaths: ['/v1/embeddings', '/v1/audio'] });
      backend.always({ json: {} });
      await call('/v1/embeddings', { method: 'POST', body: '{}' });
      await call('/api/v1/audio/speech/1?x=y', { method: 'DELETE' });
      expect(backend.requests.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
        'POST /v1/embeddings',
        'DELETE /v1/audio/speech/1?x=y',
      ]);
    });

    for (const [typed, sent] of [
      ['/v1/chat/completions/', '/v1/chat/completions'],
      ['/V1/Chat/Completions?A=/', '/v1/chat/completions?A=/'],
      ['/v1/Models/', '/v1/models'],
      ['/api/v1/MODELS/Org/M%2F1/?a=/', '/v1/models/Org/M%2F1?a=/'],
      ['/v1/Embeddings/', '/v1/embeddings'],
      ['/v1/Embeddings/A/', '/v1/embeddings/A/'],
    ] as const) {
      it(`gives a route its own spelling: ${typed}`, async () => {
        await open({ passthroughPaths: ['/v1/embeddings'] });
        backend.always({ json: { id: 'm' } });
        const method = /models/i.test(typed) ? 'GET' : 'POST';
        await call(typed, { method, ...(method === 'POST' && { body: '{}' }) });
        expect(backend.requests.map(({ path }) => path)).to.deep.equal([sent]);
      });
    }

    const kept: { name: string; method: string; path: string; status: number }[] = [
      { name: 'other paths', method: 'GET', path: '/v1/files', status: 404 },
      { name: 'other methods of chat completions', method: 'GET', path: '/v1/chat/completions', status: 405 },
      { name: 'other methods of models', method: 'DELETE', path: '/v1/models/m', status: 405 },
      { name: 'other methods of further paths', method: 'OPTIONS', path: '/v1/embeddings', status: 405 },
      { name: 'a way out of models', method: 'GET', path: '/v1/models/..%2f..%2fadmin', status: 404 },
      { name: 'a way out of models by a backslash', method: 'GET', path: '/v1/models/..%5cadmin', status: 404 },
      { name: 'a way out of further paths', method: 'GET', path: '/v1/embeddings/%2e%2e%2fadmin', status: 404 },
      ...['..;/admin', '%252e%252e/admin', '.%00./x', '%2500'].map((rest) => ({
        name: `what backends read in different ways (${rest})`,
        method: 'GET',
        path: `/v1/embeddings/${rest}`,
        status: 400,
      })),
      { name: 'a path that cannot be decoded', method: 'GET', path: '/v1/embeddings/%ff', status: 400 },
      { name: 'a model that cannot be decoded', method: 'GET', path: '/v1/models/%', status: 400 },
    ];

    for (const { name, method, path, status } of kept) {
      it(`keeps ${name} from the backend`, async () => {
        await open({ passthroughPaths: ['/v1/embeddings'] });
        expect(await errorOf(await call(path, { method }))).to.have.property('status', status);
        expect(backend.requests).to.have.length(0);
      });
    }

    it('keeps a path with dots from the backend, as no URL parser has tidied it', async () => {
      await open();
      const req = httpRequest(url, { path: '/v1/models/../admin', headers: { authorization: `Bearer ${KEY}` } }).end();
      const [response] = (await once(req, 'response')) as [IncomingMessage];
      expect(response.statusCode).to.equal(404);
      expect(backend.requests).to.have.length(0);
    });

    it('keeps a body from the backend that a GET would carry unframed', async () => {
      await open();
      const req = httpRequest(`${url}/v1/models`, {
        headers: { authorization: `Bearer ${KEY}`, 'transfer-encoding': 'chunked' },
      });
      req.end('GET /v1/admin HTTP/1.1\r\n\r\n');
      const [response] = (await once(req, 'response')) as [IncomingMessage];
      expect(response.statusCode).to.equal(400);
      expect(backend.requests).to.have.length(0);
    });

    it('asks for a key', async () => {
      await open();
      const response = await fetch(`${url}/v1/models`);
      expect(await errorOf(response)).to.include({ status: 401, code: 'missing_api_key' });
      expect(backend.requests).to.have.length(0);
    });
  });

  describe('on the way back', () => {
    it('passes on the headers that are for the client', async () => {
      await open();
      backend.reply({
        json: {},
        headers: {
          'x-request-id': 'upstream-7',
          'x-ratelimit-remaining-requests': '9',
          'openai-organization': 'org-1',
          'set-cookie': 'a=b',
          refresh: '0;url=https://evil.example',
          location: 'https://evil.example/',
          link: '<https://evil.example/>; rel=next',
          'access-control-allow-origin': '*',
          'strict-transport-security': 'max-age=1',
          server: 'uvicorn',
          connection: 'close, x-private',
          'x-private': 'p',
        },
      });
      const response = await chat('{}');
      const headers = Object.fromEntries(response.headers);
      expect(headers).to.include({
        'x-request-id': `req_${'1'.repeat(32)}`,
        'x-upstream-request-id': 'upstream-7',
        'x-ratelimit-remaining-requests': '9',
        'openai-organization': 'org-1',
        'content-type': 'application/json',
      });
      expect(headers).not.to.have.any.keys(
        'set-cookie',
        'refresh',
        'location',
        'link',
        'access-control-allow-origin',
        'strict-transport-security',
        'server',
        'x-private',
      );
    });

    const answers: { what: string; path: string; options: Options; status?: number; json: object }[] = [
      { what: 'a completion', path: '/v1/chat/completions', options: {}, json: COMPLETION },
      { what: 'a refusal', path: '/v1/chat/completions', options: {}, status: 422, json: { error: { message: 'no' } } },
      { what: 'the models', path: '/v1/models', options: {}, json: { object: 'list', data: [] } },
      {
        what: 'the models beside aliases',
        path: '/v1/models',
        options: { modelAliases: new Map([['a', 'b']]) },
        json: { object: 'list', data: [] },
      },
      { what: 'a further path', path: '/v1/files/1', options: { passthroughPaths: ['/v1/files'] }, json: {} },
      {
        what: 'a file that was made',
        path: '/v1/files/1',
        options: { passthroughPaths: ['/v1/files'] },
        status: 201,
        json: {},
      },
    ];
    for (const { what, path, options, status = 200, json } of answers) {
      it(`passes on nothing but the headers of a list to who uses the key of the gateway: ${what}`, async () => {
        await open({ ...options, upstreamApiKey: 'sk-upstream' });
        const own = Object.keys(Object.fromEntries((await call('/v1/nothing')).headers));
        const passedOn = { 'retry-after': '7', 'x-ratelimit-remaining-requests': '9', 'cache-control': 'no-store' };
        const kept = {
          'openai-organization': 'org-ours',
          'openai-project': 'p',
          'x-litellm-key-spend': '12.5',
          'x-litellm-model-api-base': 'http://10.0.0.5:8000',
          'x-internal-host': 'gpu-7',
          'content-disposition': 'attachment',
          'set-cookie': 'a=b',
          refresh: '0;url=https://evil.example',
          location: 'http://10.0.0.5/',
          link: '<http://10.0.0.5/>; rel=next',
        };
        backend.reply({ json, status, headers: { 'x-request-id': 'upstream-7', ...passedOn, ...kept } });
        const response = await call(path, path.endsWith('/completions') ? { method: 'POST', body: '{}' } : {});
        await response.text();
        expect(response.status).to.equal(status);
        const headers = Object.fromEntries(response.headers);
        expect(headers).to.include({ ...passedOn, 'x-upstream-request-id': 'upstream-7' });
        expect([
          ...own,
          ...Object.keys(passedOn),
          'content-type',
          'content-length',
          'x-upstream-request-id',
        ]).to.include.members(Object.keys(headers));
      });
    }

    it('gives each event of a stream as it comes', async () => {
      await open();
      backend.reply(async ({ start, sse, request, end }) => {
        start();
        await sse({ n: 1 });
        await request.closed.catch(() => {});
        end();
      });
      const req = start('{"stream":true}');
      const [response] = (await once(req, 'response')) as [IncomingMessage];
      const [first] = (await once(response, 'data')) as [Buffer];
      expect(first.toString()).to.equal('data: {"n":1}\n\n');
      req.destroy();
    });

    it('gives the headers at once when the backend has begun, however long its first event takes', async () => {
      await open();
      backend.reply(async ({ start, hang }) => {
        start();
        await hang();
      });
      const req = start('{"stream":true}');
      const [response] = (await once(req, 'response')) as [IncomingMessage];
      expect(response.statusCode).to.equal(200);
      req.destroy();
    });

    it('passes on an error of the backend as it is', async () => {
      await open();
      backend.reply({ json: { error: { message: 'no', weird: 1 } }, status: 429, headers: { 'retry-after': '7' } });
      const response = await chat('{}');
      expect(response.status).to.equal(429);
      expect(response.headers.get('retry-after')).to.equal('7');
      expect(await response.json()).to.deep.equal({ error: { message: 'no', weird: 1 } });
    });

    it("passes on what the backend says of the caller's own key", async () => {
      await open();
      backend.reply({ json: { error: { message: 'bad key' } }, status: 401 });
      const response = await chat('{}');
      expect(response.status).to.equal(401);
      expect(await response.json()).to.deep.equal({ error: { message: 'bad key' } });
    });

    const faults: { name: string; status: number; json: unknown; becomes: number; problem: boolean }[] = [
      { name: '401', status: 401, json: { error: { message: 'bad sk-upstream' } }, becomes: 502, problem: true },
      { name: '402', status: 402, json: { error: { message: 'no money' } }, becomes: 502, problem: true },
      { name: '403', status: 403, json: { error: { message: 'no' } }, becomes: 502, problem: true },
      {
        name: '429 for want of money',
        status: 429,
        json: { error: { message: 'no', code: 'insufficient_quota' } },
        becomes: 502,
        problem: true,
      },
      { name: '429', status: 429, json: { error: { message: 'slow down' } }, becomes: 429, problem: false },
      { name: '400', status: 400, json: { error: { message: 'bad' } }, becomes: 400, problem: false },
    ];

    for (const { name, status, json, becomes, problem } of faults) {
      it(`makes ${becomes} of a ${name} which the gateway's own key gets`, async () => {
        await open({ upstreamApiKey: 'sk-upstream' });
        backend.reply({ json, status });
        const response = await chat('{}');
        expect(response.status).to.equal(becomes);
        const text = await response.text();
        expect(text).not.to.include('sk-upstream');
        if (!problem) expect(JSON.parse(text)).to.deep.equal(json);
        expect(problems).to.have.length(problem ? 1 : 0);
      });
    }

    for (const status of [400, 404, 409, 422]) {
      it(`takes the gateway's own key out of a ${status} that quotes it, and leaves others as they are`, async () => {
        await open({ upstreamApiKey: 'sk-upstream', passthroughPaths: ['/v1/files'] });
        for (const path of ['/v1/chat/completions', '/v1/files/f']) {
          const ask = async (message: string): Promise<Response> => {
            backend.reply({ json: { error: { message, weird: 1 } }, status });
            return call(path, { method: 'POST', body: '{}' });
          };
          const quoting = await (await ask('You sent sk-upstream.')).text();
          expect(quoting).to.include('You sent [redacted].').and.not.to.include('sk-upstream');
          const plain = await ask('Not so.');
          expect(plain.status).to.equal(status);
          expect(await plain.json()).to.deep.equal({ error: { message: 'Not so.', weird: 1 } });
        }
      });
    }

    it("takes the gateway's own key out of a failure behind a status of 200", async () => {
      const key = 'sk-upstream-and-more';
      await open({ upstreamApiKey: key, passthroughPaths: ['/v1/files'] });
      const failure = { error: { message: `You sent ${key}.` } };
      backend.reply({ sse: [{ n: 1 }, failure], headers: { 'x-request-id': key } });
      const streamed = await chat('{"stream":true}');
      expect(streamed.headers.get('x-upstream-request-id')).to.equal(null);
      expect(await streamed.text())
        .to.include(`You sent ${'*'.repeat(key.length)}.`)
        .and.not.to.include(key);
      backend.reply({ json: failure });
      const whole = await call('/v1/files/f');
      expect(await whole.json()).to.deep.equal({ error: { message: `You sent ${'*'.repeat(key.length)}.` } });
    });

    it("breaks off with the backend, and tells it of a client that leaves, while it looks for the gateway's own key", async () => {
      await open({ upstreamApiKey: 'sk-upstream-and-more' });
      backend.reply(async ({ sse, cut }) => {
        await sse({ n: 1 });
        cut();
      });
      const broken = await chat('{"stream":true}');
      const failure: unknown = await broken.text().catch((error: unknown) => error);
      expect(failure).to.be.instanceOf(Error);

      backend.reply(async ({ sse, hang }) => {
        await sse({ n: 1 });
        await hang();
      });
      const left = await chat('{"stream":true}');
      await left.body?.cancel();
      expect(await backend.requests[1]?.closed).to.have.property('aborted', true);
    });

    it("does not pass on a compressed refusal, which may quote the gateway's own key", async () => {
      await open({ upstreamApiKey: 'sk-upstream' });
      backend.reply(({ start, end }) => {
        start(400, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
        end(gzipSync('{"error":{"message":"You sent sk-upstream."}}'));
      });
      expect(await errorOf(await chat('{}'))).to.include({ status: 502, code: 'upstream_invalid_response' });
    });

    it('makes JSON of a page', async () => {
      await open();
      backend.reply({ text: '<html>Bad Gateway</html>', status: 502, headers: { 'content-type': 'text/html' } });
      expect(await errorOf(await chat('{}'))).to.include({ status: 502, code: 'upstream_error' });
    });

    it('makes JSON of a page for a path that the backend does not have', async () => {
      await open();
      backend.reply({ text: '<html>nope</html>', status: 404, headers: { 'content-type': 'text/html' } });
      expect(await errorOf(await call('/v1/models'))).to.include({ status: 404, code: 'not_found' });
    });

    it('makes JSON of an endless page', async () => {
      await open();
      backend.reply(async ({ start, write }) => {
        start(500, { 'content-type': 'text/html' });
        while (await write('x'.repeat(10_000)));
      });
      expect(await errorOf(await chat('{}'))).to.include({ status: 502 });
    });

    it('tells of a refusal that breaks off', async () => {
      await open();
      backend.reply(({ start, write, cut }) => {
        start(429, { 'content-type': 'application/json', 'content-length': '100' });
        void write('{').then(() => cut());
      });
      expect(await errorOf(await chat('{}'))).to.include({ status: 502, code: 'upstream_error' });
    });

    it('does not send the client after a redirect', async () => {
      await open();
      backend.reply({ json: {}, status: 307, headers: { location: 'http://internal.test/' } });
      const response = await fetch(`${url}/v1/models`, {
        headers: { authorization: `Bearer ${KEY}` },
        redirect: 'manual',
      });
      expect(await errorOf(response)).to.include({ status: 502, code: 'upstream_invalid_response' });
      expect(problems).to.have.length(1);
    });

    it('answers a HEAD', async () => {
      await open();
      backend.reply({ json: { object: 'list', data: [] } });
      const response = await call('/v1/models', { method: 'HEAD' });
      expect(response.status).to.equal(200);
      expect(backend.requests[0]?.method).to.equal('HEAD');
    });
  });

  describe('when something breaks', () => {
    it('says that the backend cannot be reached', async () => {
      const closed = await startScriptedBackend();
      await closed.close();
      await open({ baseUrl: closed.baseUrl });
      expect(await errorOf(await chat('{}'))).to.include({ status: 502, code: 'upstream_unreachable' });
    });

    describe('in time', () => {
      const passTime = useHeldTime();

      it('goes on for a client that holds it up with pauses that are shorter, and ends for one that does not read', async () => {
        await open({ idleTimeoutMs: 1000 });
        const piece = Buffer.alloc(64 * 1024, 'x');
        for (const [isRead, wholeBytes] of [
          [true, 20 * 1024 * 1024],
          [false, Infinity],
        ] as const) {
          backend.reply(async ({ start, write, end }) => {
            start();
            for (let sent = 0; sent < wholeBytes; sent += piece.length) if (!(await write(piece))) return;
            end();
          });
          const req = start('{"stream":true}');
          const [response] = (await once(req, 'response')) as [IncomingMessage];
          response.on('error', () => undefined);
          let read = 0;
          if (isRead) {
            let pauses = 0;
            for await (const bytes of response) {
              read += (bytes as Buffer).length;
              if (read < (pauses + 1) * 4 * 1024 * 1024) continue;
              pauses += 1;
              await passTime(500);
            }
            expect(read).to.equal(wholeBytes);
          } else {
            response.pause();
            expect((await passUntil((await backend.request(2)).closed, 500)).aborted).to.equal(true);
          }
          req.destroy();
        }
      });

      it('says that the backend did not begin to answer', async () => {
        await open({ firstByteTimeoutMs: 100 });
        backend.reply(({ hang }) => hang());
        const asking = chat('{}');
        await backend.request(1);
        await passTime(100);
        expect(await errorOf(await asking)).to.include({ status: 504, code: 'upstream_timeout' });
        expect(await backend.requests[0]?.closed).to.have.property('aborted', true);
      });

      it('says so too where the backend goes on saying that it is at work', async () => {
        await open({ firstByteTimeoutMs: 100 });
        backend.reply(async ({ res, wait }) => {
          for (let n = 0; n < 20; n += 1) {
            res.writeProcessing();
            await wait(30);
          }
        });
        const asking = chat('{}');
        await backend.request(1);
        await passTime(99);
        expect(backend.closed).to.have.length(0);
        await passTime(1);
        expect(await errorOf(await asking)).to.include({ status: 504, code: 'upstream_timeout' });
      });

      it('waits for the end of an answer whose head came in time', async () => {
        await open({ firstByteTimeoutMs: 100 });
        backend.reply(async ({ res, start, wait, end }) => {
          await wait(90);
          res.writeEarlyHints({ link: '</style.css>; rel=preload' });
          start(200, { 'content-type': 'application/json' });
          await wait(90);
          end('{}');
        });
        const asking = chat('{}');
        await backend.request(1);
        await passTime(90);
        await passTime(90);
        expect(await (await asking).json()).to.deep.equal({});
      });

      it('waits longer than the first byte may take for a client that still sends', async () => {
        await open({ firstByteTimeoutMs: 150 });
        backend.reply({ json: COMPLETION });
        const req = httpRequest(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${KEY}` },
        });
        for (let n = 0; n < 4; n++) {
          req.write(' ');
          await passTime(80);
        }
        req.end('{}');
        const [response] = (await once(req, 'response')) as [IncomingMessage];
        expect(response.statusCode).to.equal(200);
      });

      it('breaks off a body that comes too slowly', async () => {
        await open();
        const req = start('', { 'content-length': '1000' }, (asked) => asked.write('{'));
        const answered = once(req, 'response') as Promise<[IncomingMessage]>;
        await until(() => backend.connections === 1);
        await passTime(10_000);
        expect((await answered)[0].statusCode).to.equal(408);
        await until(() => backend.connections === 0);
      });

      it('does not blame a client for a backend that reads slowly', async () => {
        const slow = createTcpServer((socket) => void socket.pause().on('error', () => {}));
        slow.listen(0, '127.0.0.1');
        await once(slow, 'listening');
        await open({ baseUrl: `http://127.0.0.1:${(slow.address() as AddressInfo).port}/v1` });
        const body = ' '.repeat(32 * 1024 * 1024);
        const req = start('', { 'content-length': String(body.length) }, (asked) => asked.write(body));
        let status: number | undefined;
        req.once('response', (response) => (status = response.statusCode));
        await until(async () => (await untilSteady(() => req.socket?.bytesWritten ?? 0)) > 0);
        await passTime(30_000);
        expect(status).to.equal(undefined);
        req.destroy();
        slow.close();
      });

      it('breaks off a stream in which nothing comes', async () => {
        await open({ idleTimeoutMs: 100 });
        backend.reply(async ({ sse, hang }) => {
          await sse({ n: 1 });
          await hang();
        });
        const response = await chat('{"stream":true}');
        const failure = response.text().then(
          () => undefined,
          (error: unknown) => error,
        );
        await passTime(100);
        expect(await failure).to.be.instanceOf(Error);
        expect(await backend.requests[0]?.closed).to.have.property('aborted', true);
      });
    });

    it('says that no connection was accepted in time', async () => {
      const deaf = createTcpServer();
      deaf.listen(0, '127.0.0.1');
      await once(deaf, 'listening');
      const { port } = deaf.address() as AddressInfo;
      // TLS with one who says nothing is a connection which is never made.
      await open({ baseUrl: `https://127.0.0.1:${port}/v1`, connectTimeoutMs: 100 });
      expect(await errorOf(await chat('{}'))).to.include({ status: 502, code: 'upstream_unreachable' });
      deaf.close();
    });

    for (const [name, head] of [
      ['switches to another protocol', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
      ['switches to none', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
      ['does not speak HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
    ] as const) {
      it(`refuses the answer of a backend that ${name}`, async () => {
        await open();
        backend.reply(({ res }) => void res.socket?.write(head));
        expect(await errorOf(await chat('{}'))).to.include({ status: 502, code: 'upstream_invalid_response' });
        await until(() => backend.connections === 0);
      });
    }

    it('says that nothing was sent on a connection that had been closed before', async () => {
      await open();
      const sockets: Socket[] = [];
      const hear = (message: unknown): unknown => sockets.push((message as { readonly socket: Socket }).socket);
      subscribe('net.client.socket', hear);
      backend.always({ json: {} });
      const later = Promise.withResolvers<void>();
      backend.reply(async ({ end }) => {
        await later.promise;
        end('{}');
      });
      const first = chat('{}');
      await backend.request(1);
      await (await chat('{}')).text();
      await allArrived();
      later.resolve();
      await (await first).text();
      await allArrived();
      unsubscribe('net.client.socket', hear);
      const kept = sockets.find(({ remotePort }) => remotePort === backend.port);
      const opened = forwarder as ReturnType<typeof createForward>;
      const forward = opened.forward.bind(opened);
      opened.forward = (...asked) => {
        // Node takes the one that came last, and sees only of the first that it is closed.
        kept?.destroy();
        return forward(...asked);
      };
      expect(await errorOf(await chat('{}'))).to.include({ status: 502, code: 'upstream_unreachable' });
      expect(backend.requests).to.have.length(2);
    });

    it('says that the connection broke before the answer', async () => {
      await open();
      backend.reply(({ cut }) => cut());
      expect(await errorOf(await chat('{}'))).to.include({ status: 502, code: 'upstream_error' });
    });

    it('breaks off a stream that the backend breaks off', async () => {
      await open();
      backend.reply(async ({ sse, cut }) => {
        await sse({ n: 1 });
        await allArrived();
        cut('reset');
      });
      const response = await chat('{"stream":true}');
      const failure = await response.text().then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(failure).to.be.instanceOf(Error);
    });
  });

  describe('when the client goes away', () => {
    it('tells the backend before it has answered', async () => {
      await open();
      backend.reply(({ hang }) => hang());
      const req = start('{}');
      const received = await backend.request(1);
      const leftAtMs = performance.now();
      req.destroy();
      const { aborted, atMs } = await received.closed;
      expect(aborted).to.equal(true);
      expect(atMs - leftAtMs).to.be.below(AT_ONCE_MS);
    });

    it('tells the backend in the middle of a stream', async () => {
      await open();
      backend.reply(async ({ sse, hang }) => {
        await sse({ n: 1 });
        await hang();
      });
      const req = start('{"stream":true}');
      const [response] = (await once(req, 'response')) as [IncomingMessage];
      await once(response, 'data');
      const leftAtMs = performance.now();
      req.destroy();
      const closing = await backend.requests[0]?.closed;
      expect(closing?.aborted).to.equal(true);
      expect((closing?.atMs ?? 0) - leftAtMs).to.be.below(AT_ONCE_MS);
    });

    it('closes the connection to a backend which is still receiving', async () => {
      await open();
      const req = httpRequest(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-length': '1000' },
      });
      req.on('error', () => {});
      req.write('{');
      await until(() => backend.connections > 0);
      req.destroy();
      await until(() => backend.connections === 0);
    });

    it('takes no more from the backend than a client that does not read leaves room for', async () => {
      await open();
      const whole = 2 * kernelMayTake() + 16 * 1024 * 1024;
      backend.reply(async ({ start, write }) => {
        start();
        const piece = Buffer.alloc(64 * 1024, 'x');
        for (let sent = 0; sent < whole; sent += piece.length) if (!(await write(piece))) return;
      });
      const req = start('{"stream":true}');
      const [response] = (await once(req, 'response')) as [IncomingMessage];
      response.pause();
      expect(await untilSteady(() => backend.bytesSent)).to.be.below(whole);
      req.destroy();
    });
  });

  describe('with MODEL_ALIASES', () => {
    const modelAliases = new Map([['gpt-5', 'meta/llama']]);

    it('asks the backend for the model which an alias stands for', async () => {
      await open({ modelAliases });
      backend.reply({ json: COMPLETION });
      await chat('{"model":"gpt-5","temperature":1.0}');
      expect(backend.requests[0]?.body).to.deep.equal({ model: 'meta/llama', temperature: 1 });
      expect(backend.requests[0]?.headers).to.include({ 'content-length': '40' });
    });

    it('reads a compressed request to find the model in it', async () => {
      await open({ modelAliases });
      backend.reply({ json: COMPLETION });
      await chat(new Uint8Array(gzipSync('{"model":"gpt-5"}')), { 'content-encoding': 'gzip' });
      expect(backend.requests[0]?.body).to.deep.equal({ model: 'meta/llama' });
      expect(backend.requests[0]?.headers).not.to.have.property('content-encoding');
    });

    it('leaves what is not JSON for the backend to judge', async () => {
      await open({ modelAliases });
      backend.reply({ json: { error: { message: 'not JSON' } }, status: 400 });
      const response = await chat('{"model":');
      expect(response.status).to.equal(400);
      expect(backend.requests[0]?.body).to.equal('{"model":');
    });

    it('refuses a body that is too large to look into', async () => {
      await open({ modelAliases, maxBodyBytes: 10 });
      expect(await errorOf(await chat('{"model":"gpt-5"}'))).to.include({ status: 413, code: 'payload_too_large' });
      expect(backend.requests).to.have.length(0);
    });

    it('streams the answer all the same', async () => {
      await open({ modelAliases });
      backend.reply({ sse: [{ n: 1 }] });
      const response = await chat('{"model":"gpt-5","stream":true}');
      expect(await response.text()).to.equal('data: {"n":1}\n\ndata: [DONE]\n\n');
    });

    it('asks once in some seconds for the models where the key is its own, also for HEAD', async () => {
      let nowMs = 0;
      await open({ upstreamApiKey: 'sk-own', steadyMs: () => nowMs });
      backend.always({ json: { object: 'list', data: [{ id: 'm' }] } });
      expect((await call('/v1/models', { method: 'HEAD' })).status).to.equal(200);
      nowMs = 4999;
      expect(await (await call('/v1/models')).json()).to.deep.equal({ object: 'list', data: [{ id: 'm' }] });
      expect(backend.requests).to.have.length(1);
      nowMs = 5000;
      await call('/v1/models');
      expect(backend.requests.map(({ method }) => method)).to.deep.equal(['GET', 'GET']);
    });

    for (const { first, asked } of [
      { first: 200, asked: 1 },
      { first: 500, asked: 2 },
    ]) {
      it(`waits for the list that another asks for; a ${first} makes ${asked} of them`, async () => {
        await open({ upstreamApiKey: 'sk-own' });
        const list = { object: 'list', data: [{ id: 'm' }] };
        const { promise: released, resolve: release } = Promise.withResolvers<void>();
        backend.reply(async ({ start, end }) => {
          await released;
          start(first, { 'content-type': 'application/json' });
          end(JSON.stringify(first === 200 ? list : { error: { message: 'no' } }));
        });
        backend.always({ json: list });
        const asking = call('/v1/models');
        await backend.request(1);
        const waiting = call('/v1/models');
        await allArrived();
        release();
        await (await asking).text();
        expect(await (await waiting).json()).to.deep.equal(list);
        expect(backend.requests).to.have.length(asked);
      });
    }

    it('does not let the query of one caller decide what list the others get', async () => {
      await open({ upstreamApiKey: 'sk-own' });
      backend.always({ json: { object: 'list', data: [{ id: 'm' }] } });
      await call('/v1/models?limit=0');
      await call('/v1/models');
      expect(backend.requests.map(({ path }) => path)).to.deep.equal(['/v1/models']);
    });

    it('names the fields that the backend refuses for a model, under each of its names', async () => {
      const refusals = { any: () => true, forModel: (model: string) => (model === 'm' ? ['verbosity' as const] : []) };
      await open({ modelAliases: new Map([['mine', 'm']]), refusals });
      backend.always({ json: { object: 'list', data: [{ id: 'm' }, { id: 'other' }] } });
      const { data } = (await (await call('/v1/models')).json()) as { data: unknown };
      const refused_fields = ['verbosity'];
      expect(data).to.deep.equal([{ id: 'm', refused_fields }, { id: 'other' }, { id: 'mine', refused_fields }]);
      backend.always({ json: { id: 'm' } });
      expect(await (await call('/v1/models/m')).json()).to.deep.equal({ id: 'm', refused_fields });
    });

    it('names the price of each model, under each of its names, and in a list of one', async () => {
      const price = { input: '2.5', output: '10' };
      const present = createPrices({
        currency: 'USD',
        models: { m: price, 'dear-*': { ...price, cache_write: '3.125' } },
      });
      await open({ modelAliases: new Map([['mine', 'm']]), prices: { present } });
      backend.always({ json: { object: 'list', data: [{ id: 'm' }, { id: 'dear-2' }, { id: 'other' }] } });
      const { data } = (await (await call('/v1/models')).json()) as { data: unknown };
      const shown = { currency: 'USD', input: '2.50', cached_input: '2.50', cache_write: '2.50', output: '10.00' };
      expect(data).to.deep.equal([
        { id: 'm', price: shown },
        { id: 'dear-2', price: { ...shown, cache_write: '3.125' } },
        { id: 'other', price: null },
        { id: 'mine', price: shown },
      ]);
      backend.always({ json: { id: 'm' } });
      expect(await (await call('/v1/models/m')).json()).to.deep.equal({ id: 'm', price: shown });
    });

    it('says the length of a model with its price to HEAD, as to GET', async () => {
      const present = createPrices({ currency: 'USD', models: { m: { input: '2.5', output: '10' } } });
      await open({ prices: { present } });
      backend.always({ json: { id: 'm' } });
      const { length } = await (await call('/v1/models/m')).text();
      const { status, headers } = await call('/v1/models/m', { method: 'HEAD' });
      expect({ status, length: Number(headers.get('content-length')) }).to.deep.equal({ status: 200, length });
    });

    it('lists the aliases beside the models', async () => {
      await open({ modelAliases });
      backend.reply({
        json: { object: 'list', data: [{ id: 'meta/llama', object: 'model', created: 1, owned_by: 'x' }] },
        headers: { etag: '"1"', 'x-request-id': 'up' },
      });
      const response = await call('/v1/models');
      const { data } = (await response.json()) as { data: { id: string }[] };
      expect(data.map(({ id }) => id)).to.deep.equal(['meta/llama', 'gpt-5']);
      expect(response.headers.get('etag')).to.equal(null);
      expect(response.headers.get('x-upstream-request-id')).to.equal('up');
    });

    it('passes on a list that is none, as it is', async () => {
      await open({ modelAliases });
      backend.reply({ json: ['a'] });
      expect(await (await call('/v1/models')).json()).to.deep.equal(['a']);
    });

    it('passes on the refusal to list', async () => {
      await open({ modelAliases });
      backend.reply({ json: { error: { message: 'bad key' } }, status: 401 });
      expect((await call('/v1/models')).status).to.equal(401);
    });

    it('answers for an alias with what the backend says of the model', async () => {
      await open({ modelAliases });
      backend.reply({ json: { id: 'meta/llama', object: 'model', created: 1, owned_by: 'x' } });
      const response = await call('/v1/models/gpt-5');
      expect(await response.json()).to.deep.equal({ id: 'gpt-5', object: 'model', created: 1, owned_by: 'x' });
      expect(backend.requests[0]?.path).to.equal('/v1/models/meta%2Fllama');
    });

    it('answers for an alias where the backend has a list only', async () => {
      await open({ modelAliases });
      backend.reply({ text: 'Not Found', status: 404 });
      const response = await call('/v1/models/gpt-5');
      expect(await response.json()).to.include({ id: 'gpt-5', object: 'model' });
    });

    it('passes on the question for any other model as it is', async () => {
      await open({ modelAliases });
      backend.reply({ json: { id: 'meta/llama' } });
      await call('/v1/models/meta%2Fllama');
      expect(backend.requests[0]?.path).to.equal('/v1/models/meta%2Fllama');
    });
  });

  describe('of a backend that has only a list of models', () => {
    const models = ['plain', 'org/model', 'tag:7b', 'with space'].map((id) => ({ id, object: 'model', created: 1 }));
    const nothings = [
      { status: 404, type: 'application/json', body: '{"detail":"Not Found"}' },
      { status: 405, type: 'text/html', body: '<h1>405</h1>' },
      { status: 200, type: 'application/json', body: '{"error":"Unexpected endpoint or method."}' },
    ];

    for (const nothing of nothings) {
      for (const upstreamApiKey of [undefined, 'sk-own']) {
        it(`finds each of them in it after a ${nothing.status}, with the key ${upstreamApiKey ?? 'of the caller'}`, async () => {
          await open({ ...(upstreamApiKey !== undefined && { upstreamApiKey }) });
          backend.always(({ request, start, end }) => {
            const isList = request.path === '/v1/models';
            start(isList ? 200 : nothing.status, { 'content-type': isList ? 'application/json' : nothing.type });
            end(isList ? JSON.stringify({ object: 'list', data: models }) : nothing.body);
          });
          for (const name of ['plain', 'org/model', 'org%2Fmodel', 'tag:7b', 'tag%3A7b', 'with%20space', 'plain/']) {
            const response = await call(`/v1/models/${name}`);
            const id = decodeURIComponent(name).replace(/\/$/, '');
            expect(await response.json()).to.deep.equal(models.find((model) => model.id === id));
          }
          expect(await errorOf(await call('/v1/models/other'))).to.include({ status: 404, code: 'model_not_found' });
        });
      }
    }
  });
});
