import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend, type Stage } from '../support/backend.ts';
import { TEST_KEY } from '../support/gateway.ts';
import { startGatewayProcess, type GatewayProcess } from '../support/gateway-process.ts';
import { chunkOf } from '../support/machine.ts';
import { sendRaw } from '../support/raw-request.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';

const STREAM = { model: 'test-model', input: 'Hello', stream: true };
const JSON_REQUEST = { ...STREAM, stream: false };
const MIB = 1024 * 1024;

describe('a gateway that was told to stop', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: GatewayProcess;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    gateway.kill();
    await backend.close();
  });

  it('lets a stream come to its end, and takes nothing new meanwhile', async () => {
    const letGo = Promise.withResolvers<void>();
    backend.reply(async ({ sse, end }) => {
      await sse(chunkOf({ content: 'Once upon' }));
      await letGo.promise;
      await sse(chunkOf({ content: ' a time.' }), chunkOf({}, 'stop'), '[DONE]');
      end();
    });
    // It would sit out the rest of this time beyond the limit of all tests.
    gateway = await start({ DRAIN_TIMEOUT_MS: '600000' });
    const reply = await create(STREAM);
    await gateway.drain();

    const refused = await create(STREAM);
    expect(refused.status).to.equal(503);
    expect(refused.headers.get('retry-after')).to.equal('1');
    expect(await refused.json()).to.have.nested.property('error.code', 'gateway_draining');
    expect((await get('/readyz')).status).to.equal(503);
    expect((await get('/healthz')).status).to.equal(200);

    letGo.resolve();
    expect(expectWellFormed(parseEvents(await reply.text())).output_text).to.equal('Once upon a time.');
    expect((await gateway.ended()).exitCode).to.equal(0);
  });

  it('ends what still runs after DRAIN_TIMEOUT_MS by the failure path', async () => {
    backend.always(async ({ sse, hang }: Stage) => {
      await sse(chunkOf({ content: 'Once upon' }));
      await hang();
    });
    gateway = await start({ DRAIN_TIMEOUT_MS: '100' });
    const stream = await create(STREAM);
    const json = create(JSON_REQUEST);
    await backend.request(2);
    gateway.signal('SIGTERM');

    const { status, error } = expectWellFormed(parseEvents(await stream.text()));
    expect({ status, code: error?.code }).to.deep.equal({ status: 'failed', code: 'gateway_interrupted' });
    expect((await json).status).to.equal(503);
    expect(await (await json).json()).to.have.nested.property('error.code', 'gateway_interrupted');
    for (const { closed } of backend.requests) expect((await closed).aborted).to.equal(true);
    expect((await gateway.ended()).exitCode).to.equal(0);
  });

  for (const request of [STREAM, JSON_REQUEST]) {
    it(`waits for a client which has not read all of its ${request.stream ? 'stream' : 'JSON'} yet`, async () => {
      // Each is escaped, so that the reply is larger than the buffers of the kernel.
      const content = '"'.repeat(3.5 * MIB);
      backend.always({ sse: [chunkOf({ content }), chunkOf({}, 'stop')] });
      gateway = await start({ DRAIN_TIMEOUT_MS: '600000' });
      const socket = sendRaw(gateway.url ?? '', request);
      socket.pause();
      await (
        await backend.request(1)
      ).closed;
      await until(async () => (await statuses()).every((status) => status === 'succeeded'));
      await gateway.drain();
      // Turns enough of the other process for it to end what it would not wait for.
      for (let times = 0; times < 10; times += 1) expect((await get('/readyz')).status).to.equal(503);

      let received = 0;
      let end = '';
      for await (const bytes of socket) {
        received += (bytes as Buffer).length;
        end = (end + String(bytes)).slice(-100);
      }
      expect(received).to.be.greaterThan(2 * content.length);
      expect(end).to.match(request.stream ? /data: \[DONE\]\n\n\r\n0\r\n\r\n$/ : /\}$/);
      expect((await gateway.ended()).exitCode).to.equal(0);
    });
  }

  /** With keys of its own it asks the backend nothing at its start, so that what the backend gets are the requests of the test. */
  function start(settings: Record<string, string>): Promise<GatewayProcess> {
    const keys = { AUTH_MODE: 'static', API_KEYS: TEST_KEY };
    return startGatewayProcess({ UPSTREAM_BASE_URL: backend.baseUrl, ...keys, ...settings });
  }

  function create(request: object): Promise<Response> {
    return fetch(`${gateway.url}/api/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
  }

  async function statuses(): Promise<readonly string[]> {
    const reply = await fetch(`${gateway.url}/api/v1/requests`, { headers: { authorization: `Bearer ${TEST_KEY}` } });
    return ((await reply.json()) as { data: { status: string }[] }).data.map(({ status }) => status);
  }

  function get(path: string): Promise<Response> {
    return fetch(`${gateway.url}${path}`);
  }
});

describe('a gateway without a backend', () => {
  useRealSockets();

  let gateway: GatewayProcess;

  afterEach(() => gateway.kill());

  it('says in its banner that the demo backend answers, with a request that works', async () => {
    gateway = await startGatewayProcess({});
    expect(gateway.banner).to.match(/demo backend: no model/);
    const [, key, url, body] =
      /GATEWAY_API_KEY=(\S+)\n +curl (\S+) -H "Authorization: Bearer \$GATEWAY_API_KEY"[^]* -d '(.*)'/.exec(
        gateway.banner,
      ) ?? [];
    const reply = await fetch(url ?? '', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: body ?? '',
    });
    expect(key).to.equal('demo');
    expect(reply.status).to.equal(200);
    expect(reply.headers.get('x-demo-backend')).to.equal('true');
    expect(await reply.json())
      .to.have.property('output_text')
      .that.includes('Hello!');
  });

  for (const { name, settings } of [
    { name: 'where other machines could reach it', settings: { HOST: '0.0.0.0' } },
    { name: 'in production', settings: { NODE_ENV: 'production' } },
  ]) {
    it(`does not start ${name}`, async () => {
      gateway = await startGatewayProcess(settings);
      const { stderr, exitCode } = await gateway.ended();
      expect(gateway.banner).to.equal('');
      expect(stderr).to.match(/^UPSTREAM_BASE_URL: must be set[^\n]*demo backend[^\n]*\n$/);
      expect(exitCode).to.equal(78);
    });
  }
});
