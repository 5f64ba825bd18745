import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import type { TestSettings } from '../../support/settings.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../../support/gateway.ts';
import { useRealSockets } from '../../support/real-sockets.ts';

const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

describe('the host that a request names', () => {
  useRealSockets();

  let gateway: TestGateway | undefined;

  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
  });

  async function ask(path: string, headers: Record<string, string>, settings: TestSettings = {}) {
    gateway ??= await openGateway(settings);
    const { port } = new URL((path === '/metrics' ? gateway.metricsUrl : undefined) ?? gateway.url);
    const asked = request(`http://localhost:${port}${path}`, {
      headers: { authorization: `Bearer ${TEST_KEY}`, ...headers },
    });
    const replied = Promise.race([once(asked, 'response'), once(asked, 'upgrade')]);
    asked.end();
    const [reply] = (await replied) as [IncomingMessage];
    const status = reply.statusCode;
    if (status === 101) reply.destroy();
    return { status, text: status === 101 ? '' : await text(reply) };
  }

  for (const host of [
    'localhost',
    'LOCALHOST:8080',
    'app.localhost:1',
    'localhost.',
    '127.0.0.1:8080',
    '[::1]:8080',
    'host.docker.internal:8080',
  ]) {
    it(`may be ${host}`, async () => {
      expect((await ask('/api/v1/requests', { host })).status).to.equal(200);
    });
  }

  it('is looked at in each request, whatever the one before named', async () => {
    for (const [host, status] of [
      ['evil.example', 421],
      ['localhost', 200],
      ['evil.example', 421],
      ['localhost', 200],
      ['127.0.0.1', 200],
    ] as const) {
      expect((await ask('/api/v1/requests', { host })).status, host).to.equal(status);
    }
  });

  for (const host of [
    'evil.example',
    'evil.example:8080',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    '10.0.0.1',
  ]) {
    it(`may not be ${host}, which a page on the internet can have`, async () => {
      const { status, text } = await ask('/api/v1/requests', { host });
      expect(status).to.equal(421);
      const { error } = JSON.parse(text) as { error: { code: string; message: string } };
      expect(error.code).to.equal('host_not_allowed');
      expect(error.message).to.include('ALLOWED_HOSTS');
    });
  }

  it('is looked at for a WebSocket too, whose origin equals it', async () => {
    const headers = { host: 'evil.example', origin: 'http://evil.example', ...HANDSHAKE };
    expect((await ask('/api/v1/responses', headers)).status).to.equal(421);
  });

  for (const path of ['/healthz', '/readyz', '/healthz/', '/READYZ']) {
    it(`may be any for ${path}`, async () => {
      expect((await ask(path, { host: 'probe.example' })).status).to.equal(200);
    });
  }

  for (const settings of [
    { ALLOWED_HOSTS: 'other.test, Gateway.Example' },
    { PUBLIC_BASE_URL: 'https://gateway.example' },
    { TRUST_PROXY: '1' },
  ]) {
    it(`may be that of the operator with ${JSON.stringify(settings)}`, async () => {
      expect((await ask('/api/v1/requests', { host: 'gateway.example:8080' }, settings)).status).to.equal(200);
    });
  }

  it('may be local in every letter where HOST is', async () => {
    expect((await ask('/api/v1/requests', { host: 'evil.example' }, { HOST: 'LOCALHOST' })).status).to.equal(421);
    expect((await ask('/api/v1/requests', { host: 'LOCALHOST' })).status).to.equal(200);
  });

  for (const { token, status } of [
    { token: 'a-token-of-enough-letters', status: 401 },
    { token: '', status: 421 },
  ]) {
    it(`is a ${status} on the port of the metrics with METRICS_TOKEN=${token}, while the API is open to all`, async () => {
      const settings = {
        UPSTREAM_BASE_URL: 'http://backend.test/v1',
        HOST: '0.0.0.0',
        METRICS_TOKEN: token,
        METRICS_PORT: '0',
      };
      expect((await ask('/metrics', { host: '10.0.0.5:9090' }, settings)).status).to.equal(status);
    });
  }

  for (const { name, headers } of [
    { name: 'a scheme that is none', headers: { 'x-forwarded-proto': 'javascript' } },
    { name: 'https', headers: { 'x-forwarded-proto': 'https' } },
  ]) {
    it(`comes with ${name} from a trusted proxy`, async () => {
      const { text } = await ask('/api/v1/requests?limit=1', { host: 'a.test', ...headers }, { TRUST_PROXY: '1' });
      expect(text).not.to.include('javascript');
    });
  }

  for (const host of ['localhost:99999', '1.2.3.4.5', '[::::]']) {
    it(`is a 400 as ${host}, which cannot be, also for a WebSocket`, async () => {
      expect((await ask('/api/v1/responses', { host, ...HANDSHAKE })).status).to.equal(400);
      expect((await ask('/api/v1/requests', { host })).status).to.equal(400);
    });
  }

  for (const host of ['a b', 'a.test:99999']) {
    it(`is a 400 where a trusted proxy passes on ${host}, which is none`, async () => {
      const headers = { 'x-forwarded-host': host, ...HANDSHAKE };
      expect((await ask('/api/v1/responses', headers, { TRUST_PROXY: '1' })).status).to.equal(400);
    });
  }
});
