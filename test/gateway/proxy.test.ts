/** Backends that only a forward proxy reaches. */

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createLogger } from '../../src/telemetry/log.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { SELF_SIGNED } from '../support/certificate.ts';
import { run } from '../support/cli.ts';
import { startForwardProxy, type ForwardProxy } from '../support/forward-proxy.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const KEY = 'static-key-of-a-caller';
const CREDENTIALS = `Basic ${Buffer.from('us er:p@ss').toString('base64')}`;

describe('a gateway behind a forward proxy', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let proxy: ForwardProxy;
  let folder: string;
  let gateway: TestGateway | undefined;
  let lines: Readonly<Record<string, unknown>>[];

  beforeEach(async () => {
    [backend, proxy] = await Promise.all([startScriptedBackend(), startForwardProxy()]);
    folder = mkdtempSync(join(tmpdir(), 'proxy-'));
    lines = [];
  });
  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
    await Promise.all([backend.close(), proxy.close()]);
    rmSync(folder, { recursive: true });
  });

  async function open(settings: Readonly<Record<string, string>>): Promise<void> {
    const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
    const proxied = {
      HTTP_PROXY: `http://us%20er:p%40ss@127.0.0.1:${proxy.port}`,
      https_proxy: `127.0.0.1:${proxy.port}`,
    };
    gateway = await openGateway({ AUTH_MODE: 'static', API_KEYS: KEY, ...proxied, ...settings }, { log });
  }

  const plain = (): string => `http://backend.test:${backend.port}/v1`;
  const secure = (): string => `https://backend.test:${backend.port}/v1`;
  const get = (path: string): Promise<Response> =>
    fetch(`${gateway?.url}${path}`, { headers: { authorization: `Bearer ${KEY}` } });
  const post = (path: string): Promise<Response> =>
    fetch(`${gateway?.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: 'Hello', messages: [{ role: 'user', content: 'Hello' }] }),
    });
  const told = (msg: string): readonly Readonly<Record<string, unknown>>[] =>
    lines.filter((line) => line['msg'] === msg);
  const unreachable = () => told('the backend cannot be reached');

  it('asks it for responses, chat completions, models and other paths, with its user name and password', async () => {
    backend.always(answer());
    await open({ UPSTREAM_BASE_URL: plain(), PASSTHROUGH_PATHS: '/v1/embeddings' });
    const replies = await Promise.all(['/v1/responses', '/v1/chat/completions', '/v1/embeddings'].map(post));
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    await get('/v1/models');
    const expected = ['POST /chat/completions', 'POST /chat/completions', 'POST /embeddings', 'GET /models'];
    expect([...proxy.seen].sort()).to.deep.equal(expected.map((one) => one.replace(' ', ` ${plain()}`)).sort());
    expect(new Set(proxy.credentials)).to.deep.equal(new Set([CREDENTIALS]));
    expect(backend.requests[0]?.headers.host).to.equal(`backend.test:${backend.port}`);
  });

  for (const path of ['/v1/responses', '/v1/chat/completions']) {
    it(`opens a tunnel to a backend with TLS, whose certificate counts, for ${path}`, async () => {
      const server = createServer(SELF_SIGNED).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      await open({ UPSTREAM_BASE_URL: `https://backend.test:${port}/v1` });
      expect((await post(path)).status).to.equal(502);
      server.close();
      expect(proxy.seen).to.deep.equal([`CONNECT backend.test:${port}`]);
      expect(unreachable()[0]).to.include({ reason: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    });

    for (const [baseUrl, kind] of [
      [plain, 'plain HTTP'],
      [secure, 'TLS'],
    ] as const) {
      it(`says in the log that the proxy wants a password, to ${path} over ${kind}`, async () => {
        await open({ UPSTREAM_BASE_URL: baseUrl() });
        proxy.refuse(407);
        expect((await post(path)).status).to.equal(502);
        expect(unreachable()).to.have.lengthOf(1);
        expect(unreachable()[0]).to.include({ reason: 'PROXY_407' });
        expect(unreachable()[0]?.['problem']).to.match(/proxy .* user name and a password/);
      });

      it(`says in the log that the proxy is gone, to ${path} over ${kind}`, async () => {
        await open({ UPSTREAM_BASE_URL: baseUrl() });
        await proxy.close();
        expect((await post(path)).status).to.equal(502);
        expect(unreachable()[0]).to.include({ reason: 'PROXY_ECONNREFUSED' });
        expect(unreachable()[0]?.['problem']).to.match(/proxy .* could not be reached/);
      });
    }

    it(`says in the log that the proxy forbids the backend, to ${path}`, async () => {
      await open({ UPSTREAM_BASE_URL: secure() });
      proxy.refuse(403);
      expect((await post(path)).status).to.equal(502);
      expect(unreachable()[0]).to.include({ reason: 'PROXY_403', variable: 'https_proxy' });
    });

    it(`says that a refusal over plain HTTP may be that of the proxy, to ${path}`, async () => {
      await open({ UPSTREAM_BASE_URL: plain() });
      proxy.refuse(403);
      await post(path);
      expect(told('the backend needs the operator')[0]?.['problem']).to.match(/proxy of HTTP_PROXY/);
    });
  }

  it('is gone through by doctor too, for everything that it asks', async () => {
    backend.always(answer());
    const HTTP_PROXY = `http://us%20er:p%40ss@127.0.0.1:${proxy.port}`;
    await run(['doctor', '--model', 'm', '--json'], { env: { UPSTREAM_BASE_URL: plain(), HTTP_PROXY } });
    expect(backend.requests).not.to.deep.equal([]);
    expect(proxy.seen).to.have.lengthOf(backend.requests.length);
    expect(new Set(proxy.credentials)).to.deep.equal(new Set([CREDENTIALS]));
  });

  it('goes straight to what NO_PROXY names, and says at the start which backend has a proxy, without its password', async () => {
    const backends = [
      { name: 'near', base_url: backend.baseUrl, models: ['m'] },
      { name: 'far', base_url: plain(), models: ['n'] },
      { name: 'excepted', base_url: `http://gpu.internal:${backend.port}/v1`, models: ['o'] },
    ];
    const path = join(folder, 'backends.json');
    writeFileSync(path, JSON.stringify({ backends }));
    backend.always(answer());
    await open({ BACKENDS_FILE: path, NO_PROXY: '.internal' });
    expect((await post('/v1/responses')).status).to.equal(200);
    expect(proxy.seen).to.deep.equal([]);
    expect(told('a proxy leads to the backend').map(({ backend }) => backend)).to.deep.equal(['far']);
    expect(JSON.stringify(lines))
      .to.include('HTTP_PROXY')
      .and.not.match(/p%40ss|p@ss/);
  });

  it('goes on where a new backend would need a proxy that it cannot speak to', async () => {
    const file = join(folder, 'backends.json');
    const list = (base_url: string): void =>
      writeFileSync(file, JSON.stringify({ backends: [{ name: 'a', base_url }] }));
    list(backend.baseUrl);
    await open({ BACKENDS_FILE: file, https_proxy: 'http://u:50%@127.0.0.1:1' });
    list(secure());
    gateway?.reload();
    expect(lines.at(-1)?.['problems']).to.deep.equal([
      'BACKENDS_FILE: a: https_proxy: must be the http:// or https:// URL of a proxy, with %25 for each percent sign in its ' +
        `password; NO_PROXY=backend.test:${backend.port} goes without one`,
    ]);
    backend.reply(answer());
    expect((await post('/v1/responses')).status).to.equal(200);
  });
});
