import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { AdminLimitList } from '../../src/contract/operator-types.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';

const ADMIN = 'admin-token-canary-1';
const COMPLETION = { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] };
const REQUEST = { model: 'm', input: 'Hello' };

describe('the limits of what runs at once', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function open(settings: Record<string, string>): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings });
  }

  async function codeOf(reply: Response): Promise<string | undefined> {
    return ((await reply.json()) as { error: { code: string } | null }).error?.code;
  }

  it('do not count OPTIONS, which has no caller', async () => {
    await open({ PASSTHROUGH_PATHS: '/v1/embeddings' });
    for (const [path, status, allow] of [
      ['/v1/models', 405, 'GET'],
      ['/v1/models/m', 405, 'GET'],
      ['/v1/chat/completions', 405, 'POST'],
      ['/v1/embeddings', 405, 'GET, HEAD, POST, PUT, PATCH, DELETE'],
      ['/v1/nothing', 404, null],
    ] as const) {
      const preflight = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
      const refused = await fetch(`${gateway.url}${path}`, { method: 'OPTIONS', headers: preflight });
      expect([refused.status, refused.headers.get('allow')], path).to.deep.equal([status, allow]);
    }
    expect(backend.requests).to.have.length(0);
  });

  describe('MAX_CONCURRENT_REQUESTS', () => {
    it('refuses one more with 503 and when to come again, and takes the next when one is over', async () => {
      await open({
        MAX_CONCURRENT_REQUESTS: '2',
        AUTH_MODE: 'static',
        API_KEYS: `${TEST_KEY},another-key,a-third-key`,
      });
      const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      backend.always(async ({ start, end }) => {
        await released;
        start(200, { 'content-type': 'application/json' });
        end(JSON.stringify(COMPLETION));
      });
      const running = [gateway.create(REQUEST), gateway.create(REQUEST, withKey('another-key'))];
      await backend.request(2);

      const refused = await gateway.create(REQUEST, withKey('a-third-key'));
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1']);
      expect(refused.headers.get('x-should-retry')).to.equal(null);
      expect(await codeOf(refused)).to.equal('server_overloaded');
      const overShare = await gateway.get('/v1/models');
      expect([overShare.status, overShare.headers.get('retry-after')]).to.deep.equal([429, '1']);
      expect(await codeOf(overShare)).to.equal('concurrency_limit_exceeded');

      release();
      await Promise.all((await Promise.all(running)).map((reply) => reply.text()));
      expect((await gateway.create(REQUEST)).status).to.equal(200);
    });

    it('still lets callers look at their records and cancel them', async () => {
      await open({ MAX_CONCURRENT_REQUESTS: '1' });
      backend.always(({ hang }) => hang());
      // With a key, its record is there before the backend is asked.
      const waiting = gateway.create(REQUEST, { headers: { 'idempotency-key': 'key-1' } });
      await backend.request(1);
      const { data } = (await (await gateway.get('/api/v1/requests')).json()) as { data: { request_id: string }[] };
      const cancel = await fetch(`${gateway.url}/api/v1/requests/${data[0]?.request_id}/cancel`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TEST_KEY}` },
      });
      expect([cancel.status, (await waiting).status]).to.deep.equal([202, 409]);
    });

    it('counts a client that went away no longer', async () => {
      await open({ MAX_CONCURRENT_REQUESTS: '1' });
      backend.reply(({ hang }) => hang());
      backend.reply({ json: COMPLETION });
      const leaving = new AbortController();
      const gone = gateway.create(REQUEST, { signal: leaving.signal }).catch(() => undefined);
      const { closed } = await backend.request(1);
      leaving.abort();
      await gone;
      await closed;
      expect((await gateway.create(REQUEST)).status).to.equal(200);
    });
  });

  describe('MAX_BODY_BYTES_IN_FLIGHT', () => {
    const limits = { MAX_BODY_BYTES: '10000', MAX_BODY_BYTES_IN_FLIGHT: '15000' };
    const large = { ...REQUEST, instructions: 'x'.repeat(8000) };

    function send(body: Uint8Array | string, headers: Record<string, string | number> = {}): ClientRequest {
      const sent = request(`${gateway.url}/api/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json', ...headers },
      });
      sent.on('error', () => undefined);
      sent.write(body);
      return sent;
    }

    async function usedBytes(): Promise<number | undefined> {
      const reply = await fetch(`${gateway.url}/admin/v1/limits`, { headers: { authorization: `Bearer ${ADMIN}` } });
      return ((await reply.json()) as AdminLimitList).data.find(({ name }) => name === 'body_bytes')?.used;
    }

    async function statusOf(sent: ClientRequest): Promise<number | undefined> {
      const [reply] = (await once(sent, 'response')) as [IncomingMessage];
      reply.resume();
      return reply.statusCode;
    }

    it('refuses a body for which there is no room, until the request before it is over', async () => {
      await open(limits);
      backend.reply(({ hang }) => hang());
      backend.always({ json: COMPLETION });
      const leaving = new AbortController();
      const first = gateway.create(large, { signal: leaving.signal }).catch(() => undefined);
      const { closed } = await backend.request(1);
      const refused = await gateway.create(large);
      expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([429, '1']);
      expect(await codeOf(refused)).to.equal('concurrency_limit_exceeded');
      expect((await gateway.create(REQUEST)).status).to.equal(200);

      leaving.abort();
      await first;
      await closed;
      expect((await gateway.create(large)).status).to.equal(200);
    });

    it('counts what has come of a body which is still on its way', async () => {
      await open({ ...limits, ADMIN_TOKEN: ADMIN });
      const slow = send(JSON.stringify(large).slice(0, 8000), { 'content-length': 9000 });
      await until(async () => (await usedBytes()) === 8000);
      expect((await gateway.create(large)).status).to.equal(429);
      slow.destroy();
      await until(async () => (await usedBytes()) === 0);
      backend.reply({ json: COMPLETION });
      expect((await gateway.create(large)).status).to.equal(200);
    });

    it('counts what a body has become by decompression', async () => {
      await open(limits);
      backend.reply(({ hang }) => hang());
      const first = send(gzipSync(JSON.stringify(large)), { 'content-encoding': 'gzip' }).end();
      await backend.request(1);
      expect(await statusOf(send(gzipSync(JSON.stringify(large)), { 'content-encoding': 'gzip' }).end())).to.equal(429);
      first.destroy();
    });
  });
});
