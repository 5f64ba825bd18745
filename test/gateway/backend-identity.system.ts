/** What backends want of the gateway beside a key: headers of its own, and certificates. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { readConfig } from '../../src/config/config.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { run } from '../support/cli.ts';
import { startForwardProxy } from '../support/forward-proxy.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const KEY = 'static-key-of-a-caller';
const ENV = { AUTH_MODE: 'static', API_KEYS: KEY };
const PATHS = ['/v1/responses', '/v1/chat/completions', '/v1/embeddings'];
const REPLY = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
});

describe('a backend behind a door of its own', () => {
  useRealSockets();

  let folder: string;
  let gateway: TestGateway | undefined;
  let lines: string[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'identity-'));
    lines = [];
  });
  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
    rmSync(folder, { recursive: true });
  });

  const pathOf = (name: string): string => join(folder, name);
  function list(backend: object): Readonly<Record<string, string>> {
    writeFileSync(pathOf('backends.json'), JSON.stringify({ backends: [{ name: 'a', ...backend }] }));
    return { ...ENV, BACKENDS_FILE: pathOf('backends.json'), PASSTHROUGH_PATHS: '/v1/embeddings' };
  }
  async function open(settings: Readonly<Record<string, string>>, nowMs = Date.now): Promise<void> {
    const log = createLogger('info', { write: (line) => void lines.push(line) });
    gateway = await openGateway(settings, { log, nowMs });
  }
  const post = (path: string): Promise<Response> =>
    fetch(`${gateway?.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', 'x-tenant': 'of the caller' },
      body: JSON.stringify({ model: 'm', input: 'Hello', messages: [{ role: 'user', content: 'Hello' }] }),
    });
  const statuses = async (): Promise<readonly number[]> =>
    (await Promise.all(PATHS.map(post))).map(({ status }) => status);

  describe('by headers', () => {
    let backend: ScriptedBackend;
    beforeEach(async () => {
      backend = await startScriptedBackend();
      backend.always(answer());
    });
    afterEach(() => backend.close());

    const sent = (name: string): Set<unknown> => new Set(backend.requests.map(({ headers }) => headers[name]));

    it('gets them on every way, with values from the environment and from files', async () => {
      writeFileSync(pathOf('token'), 'of-the-file\n');
      const headers = {
        'X-Tenant': 'blue',
        Authorization: 'Basic ${LOGIN}',
        'CF-Secret': `\${file:${pathOf('token')}}`,
      };
      let nowMs = Date.now();
      await open({ ...list({ base_url: backend.baseUrl, headers }), LOGIN: 'bG9naW4=' }, () => nowMs);
      expect(await statuses()).to.deep.equal([200, 200, 200]);
      await gateway?.get('/v1/models').catch(() => undefined);
      expect(sent('x-tenant')).to.deep.equal(new Set(['blue']));
      expect(sent('authorization')).to.deep.equal(new Set(['Basic bG9naW4=']));
      expect(sent('cf-secret')).to.deep.equal(new Set(['of-the-file']));
      writeFileSync(pathOf('token'), 'of-later');
      nowMs += 1000;
      await post('/v1/responses');
      expect(backend.requests.at(-1)?.headers['cf-secret']).to.equal('of-later');
    });

    it('gets those of UPSTREAM_HEADERS, and nobody is shown them', async () => {
      const headers = JSON.stringify({ 'x-api-key': '${GATE}', 'x-tenant': 'canary-blue' });
      const settings = { ...ENV, UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_HEADERS: headers, GATE: 'canary-key' };
      await open(settings);
      expect((await post('/v1/responses')).status).to.equal(200);
      expect(sent('x-api-key')).to.deep.equal(new Set(['canary-key']));
      backend.always({ json: { error: { message: 'Bad key canary-key' } }, status: 400 });
      const told = await (await post('/v1/responses')).text();
      const { stdout, stderr } = await run(['config'], { env: settings });
      expect([told, ...lines, stdout, stderr].join('\n')).to.not.include('canary');
    });

    it('gets them from doctor', async () => {
      const { stdout, stderr } = await run(['doctor', '--model', 'm', '--json'], {
        env: { ...ENV, UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_HEADERS: '{"x-gate": "canary"}' },
      });
      const chat = backend.requests.find(({ path }) => path === '/v1/chat/completions');
      expect(chat?.headers).to.include({ 'x-gate': 'canary' });
      expect(stdout + stderr).to.not.include('canary');
    });

    for (const { headers, env = {}, problem } of [
      { headers: { Host: 'x' }, problem: 'must not have Host, which the gateway sends itself' },
      { headers: { 'x-a': '${NOT_THERE}' }, problem: 'x-a names NOT_THERE, which is not set' },
      {
        headers: { 'x-a': '${file:/not/there}' },
        problem: 'x-a names /not/there, which cannot be read or holds no key',
      },
      { headers: { 'x-a': 'canary\n' }, problem: 'x-a must have visible ASCII characters' },
      {
        headers: { Authorization: 'Bearer canary' },
        env: { AUTH_MODE: 'passthrough', API_KEYS: '' },
        problem: "must not have Authorization with AUTH_MODE=passthrough, where the backend gets the caller's own key",
      },
    ] as const) {
      it(`says at the start that a header ${problem}`, () => {
        const only = {
          ...ENV,
          UPSTREAM_BASE_URL: 'http://b.test/v1',
          UPSTREAM_HEADERS: JSON.stringify(headers),
          ...env,
        };
        expect(() => readConfig(only))
          .to.throw(`UPSTREAM_HEADERS: ${problem}`)
          .with.property('message')
          .not.match(/canary/);
        expect(() => readConfig({ ...list({ base_url: 'http://b.test/v1', headers }), ...env })).to.throw(
          `BACKENDS_FILE: a: headers ${problem}`,
        );
      });
    }
  });

  describe('by certificates', () => {
    let server: Server | undefined;
    afterEach(async () => {
      server?.closeAllConnections();
      server?.close();
      if (server?.listening === true) await once(server, 'close');
    });

    function makeCertificate(name: string): void {
      const files = ['-keyout', pathOf(`${name}.key`), '-out', pathOf(`${name}.pem`)];
      const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
      const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1,DNS:backend.test'];
      execFileSync('openssl', ['req', ...kind, ...subject, ...files], { stdio: 'ignore' });
    }
    const read = (name: string): string => readFileSync(pathOf(name), 'utf8');

    /** Lets in the one who shows the certificate of `client`. */
    async function serve(): Promise<string> {
      for (const name of ['server', 'client', 'other']) makeCertificate(name);
      server = createServer(
        { cert: read('server.pem'), key: read('server.key'), ca: read('client.pem'), requestCert: true },
        (req, res) => {
          req.resume();
          res.setHeader('content-type', 'application/json').setHeader('connection', 'close').end(REPLY);
        },
      ).listen(0, '127.0.0.1');
      await once(server, 'listening');
      return `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    }

    const TLS = { ca_file: 'server.pem', cert_file: 'client.pem', key_file: 'client.key' };
    const files = (names: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(names).map(([name, file]) => [name, pathOf(file)]));

    it('lets the gateway in by its certificate and knows its authority, on every way, doctor included', async () => {
      const settings = list({ base_url: await serve(), tls: files(TLS) });
      await open(settings);
      expect(await statuses()).to.deep.equal([200, 200, 200]);
      const { stdout } = await run(['doctor', '--model', 'm', '--json'], { env: settings });
      expect(stdout).to.include('"chat"');
    });

    it('lets it in through a proxy as well', async () => {
      const proxy = await startForwardProxy();
      const { port } = new URL(await serve());
      const HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`;
      await open({ ...list({ base_url: `https://backend.test:${port}/v1`, tls: files(TLS) }), HTTPS_PROXY });
      expect(await statuses()).to.deep.equal([200, 200, 200]);
      expect(new Set(proxy.seen)).to.deep.equal(new Set([`CONNECT backend.test:${port}`]));
      await proxy.close();
    });

    it('is told in the log which field to set where it wants a certificate, or has one of an unknown authority', async () => {
      const base_url = await serve();
      for (const { tls, problem } of [
        { tls: { ca_file: 'server.pem' }, problem: /tls\.cert_file and tls\.key_file/ },
        { tls: { ca_file: 'other.pem' }, problem: /tls\.ca_file in BACKENDS_FILE/ },
      ]) {
        lines = [];
        await open(list({ base_url, tls: files(tls) }));
        expect((await post('/v1/responses')).status).to.equal(502);
        const line = lines.find((text) => /cannot be reached|needs the operator/.test(text)) ?? '{}';
        expect((JSON.parse(line) as { problem?: string }).problem).to.match(problem);
        await gateway?.close();
      }
    });

    it('gets the certificate of the moment, and that of before while two files do not fit', async () => {
      const base_url = await serve();
      for (const end of ['pem', 'key']) copyFileSync(pathOf(`other.${end}`), pathOf(`own.${end}`));
      await open(list({ base_url, tls: files({ ca_file: 'server.pem', cert_file: 'own.pem', key_file: 'own.key' }) }));
      expect((await post('/v1/embeddings')).status).to.equal(502);
      copyFileSync(pathOf('client.pem'), pathOf('own.pem'));
      expect((await post('/v1/embeddings')).status).to.equal(502);
      copyFileSync(pathOf('client.key'), pathOf('own.key'));
      expect(await statuses()).to.deep.equal([200, 200, 200]);
    });

    it('says at the start what is wrong with the files', () => {
      for (const name of ['server', 'client']) makeCertificate(name);
      for (const { base_url = 'https://b.test/v1', tls, problem } of [
        { tls: { ca_file: 'none.pem' }, problem: `tls.ca_file names ${pathOf('none.pem')}, which cannot be read` },
        { tls: { ca_file: 'client.key' }, problem: 'client.key, which cannot be read or holds no PEM' },
        {
          tls: { cert_file: 'client.pem', key_file: 'server.key' },
          problem: 'tls.key_file does not fit tls.cert_file',
        },
        { base_url: 'http://b.test/v1', tls: TLS, problem: 'tls needs a base_url with https://' },
        { tls: { cert_file: 'client.pem' }, problem: 'tls' },
      ]) {
        expect(() => readConfig(list({ base_url, tls: files(tls) })), problem).to.throw(problem);
      }
    });
  });
});
