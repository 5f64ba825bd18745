import { expect } from 'chai';
import { ConfigError, readConfig } from '../../../src/config/config.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../../support/gateway.ts';

const PAGE = 'https://app.example.com';
const OTHER = 'https://evil.example.com';
const EXPOSED = [
  'x-request-id',
  'x-upstream-request-id',
  'retry-after',
  'x-dropped-tools',
  'x-dropped-items',
  'x-ignored-parameters',
  'location',
  '*',
];

describe('CORS_ORIGINS', () => {
  let backend: ScriptedBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always({
      json: { choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }] },
      headers: { 'x-ratelimit-remaining-tokens': '7', 'access-control-allow-origin': 'https://backend.example.com' },
    });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function open(origins: string): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, CORS_ORIGINS: origins });
  }

  /** As a browser asks before it sends a key or JSON. */
  function preflight(path: string, origin: string): Promise<Response> {
    return fetch(gateway.url + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,x-stainless-os',
      },
    });
  }

  it('allows no other origin on a path of the admin API that does not exist', async () => {
    gateway = await openGateway({ CORS_ORIGINS: PAGE, ADMIN_TOKEN: 'the-token-of-the-operator' });
    const reply = await preflight('/admin/v1/nothing', PAGE);
    expect([reply.status, reply.headers.get('access-control-allow-origin')]).to.deep.equal([404, null]);
  });

  function create(origin: string, request: object = {}): Promise<Response> {
    return gateway.create({ model: 'm', input: 'Hi', ...request }, { headers: { origin } });
  }

  const list = (reply: Response, name: string) => (reply.headers.get(name) ?? '').toLowerCase().split(/, */);

  for (const path of ['/api/v1/responses', '/v1/chat/completions', '/v1/models', '/api/v1/requests/req_1/cancel']) {
    it(`lets a page of a listed origin ask for ${path}, without a key`, async () => {
      await open(`http://localhost:3000, ${PAGE}`);
      const reply = await preflight(path, PAGE);
      expect(reply.status).to.equal(204);
      expect(reply.headers.get('access-control-allow-origin')).to.equal(PAGE);
      expect(list(reply, 'access-control-allow-methods')).to.include.members(['get', 'post', 'delete']);
      expect(list(reply, 'access-control-allow-headers')).to.deep.equal([
        'authorization',
        'content-type',
        'x-stainless-os',
      ]);
      expect(list(reply, 'vary')).to.include('origin');
      expect(await reply.text()).to.equal('');
      expect(backend.requests).to.have.length(0);
    });
  }

  const replies: { name: string; ask: () => Promise<Response>; status: number }[] = [
    { name: 'a reply', ask: () => create(PAGE), status: 200 },
    { name: 'a stream', ask: () => create(PAGE, { stream: true }), status: 200 },
    { name: 'a refusal', ask: () => create(PAGE, { model: 5 }), status: 400 },
    {
      name: 'a reply to a caller without a key',
      ask: () => fetch(`${gateway.url}/api/v1/requests`, { headers: { origin: PAGE } }),
      status: 401,
    },
    {
      name: 'what is passed through',
      ask: () => fetch(`${gateway.url}/v1/models`, { headers: { origin: PAGE, authorization: `Bearer ${TEST_KEY}` } }),
      status: 200,
    },
    {
      name: 'a path that does not exist',
      ask: () => fetch(`${gateway.url}/nowhere`, { headers: { origin: PAGE } }),
      status: 404,
    },
  ];
  for (const { name, ask, status } of replies) {
    it(`lets a page read ${name} with its headers`, async () => {
      await open(PAGE);
      const reply = await ask();
      expect(reply.status).to.equal(status);
      expect(reply.headers.get('access-control-allow-origin')).to.equal(PAGE);
      expect(list(reply, 'access-control-expose-headers')).to.include.members(EXPOSED);
      expect(reply.headers.get('access-control-allow-credentials')).to.equal(null);
      expect(reply.headers.get('x-request-id')).to.be.a('string');
      await reply.text();
    });
  }

  it('lets no page administer', async () => {
    await open('*');
    for (const method of ['GET', 'OPTIONS']) {
      const headers = { origin: PAGE, 'access-control-request-method': 'POST' };
      const reply = await fetch(`${gateway.url}/admin/v1/keys`, { method, headers });
      expect(reply.headers.get('access-control-allow-origin')).to.equal(null);
      await reply.text();
    }
  });

  it('tells a page of another origin nothing, and a cache that others get other answers', async () => {
    await open(PAGE);
    for (const reply of [await preflight('/api/v1/responses', OTHER), await create(OTHER)]) {
      expect(reply.headers.get('access-control-allow-origin')).to.equal(null);
      expect(reply.headers.get('access-control-allow-headers')).to.equal(null);
      expect(list(reply, 'vary')).to.include('origin');
    }
  });

  for (const origin of [`${PAGE}.evil.com`, `${PAGE}:8443`, 'http://app.example.com', 'null', '']) {
    it(`does not take "${origin}" for ${PAGE}`, async () => {
      await open(PAGE);
      expect((await create(origin)).headers.get('access-control-allow-origin')).to.equal(null);
    });
  }

  it('lets pages of all origins in with *, and never with credentials', async () => {
    await open('*');
    for (const reply of [await preflight('/v1/responses', OTHER), await create('null')]) {
      expect(reply.headers.get('access-control-allow-origin')).to.equal('*');
      expect(reply.headers.get('access-control-allow-credentials')).to.equal(null);
    }
  });

  it('serves callers that are no pages as ever', async () => {
    await open(PAGE);
    const reply = await gateway.create({ model: 'm', input: 'Hi' });
    expect(reply.status).to.equal(200);
    expect(reply.headers.get('access-control-allow-origin')).to.equal(null);
  });

  it('allows no request header whose name is none', async () => {
    await open(PAGE);
    const reply = await fetch(`${gateway.url}/v1/responses`, {
      method: 'OPTIONS',
      headers: {
        origin: PAGE,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'a: b; <script>',
      },
    });
    expect(reply.status).to.equal(204);
    expect(reply.headers.get('access-control-allow-headers')).to.equal(null);
  });

  it('says nothing to pages where no origin is set', async () => {
    await open('');
    const reply = await create(PAGE);
    expect(reply.headers.get('access-control-allow-origin')).to.equal(null);
    expect(reply.headers.get('vary')).to.equal(null);
    const asked = await preflight('/api/v1/responses', PAGE);
    expect(asked.status).to.be.within(400, 499);
    expect(asked.headers.get('access-control-allow-headers')).to.equal(null);
  });

  it('leaves an OPTIONS that is no preflight to the routes', async () => {
    await open(PAGE);
    const reply = await fetch(`${gateway.url}/healthz`, { method: 'OPTIONS', headers: { origin: PAGE } });
    expect(reply.status).to.equal(405);
  });
});

describe('the origins of CORS_ORIGINS', () => {
  const env = { UPSTREAM_BASE_URL: 'http://backend.test/v1' };

  it('are kept as browsers send them', () => {
    const text = '*, https://a.example.com http://localhost:3000,http://[::1]:8080 tauri://localhost';
    expect(readConfig({ ...env, CORS_ORIGINS: text }).corsOrigins).to.deep.equal([
      '*',
      'https://a.example.com',
      'http://localhost:3000',
      'http://[::1]:8080',
      'tauri://localhost',
    ]);
  });

  for (const text of [
    'app.example.com',
    'https://a.example.com/',
    'https://a.example.com/page',
    'https://*.a.com',
    'null',
  ]) {
    it(`are not ${text}`, () => {
      expect(() => readConfig({ ...env, CORS_ORIGINS: text })).to.throw(
        ConfigError,
        /CORS_ORIGINS: must be a list such as/,
      );
    });
  }
});
