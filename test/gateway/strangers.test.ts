/** What a key gets that the backend has never accepted. */
import { expect } from 'chai';
import { createLogger } from '../../src/telemetry/log.ts';
import { answer, stream, text } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { allStrangers, openGateway, openGatewayAsItIs, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { makeWorkshop } from '../support/sqlite.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { allArrived, until } from '../support/time.ts';

const REQUEST = { model: 'm', input: 'Hello' };

describe('a key that was never accepted', () => {
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

  async function open(settings: Record<string, string> = {}): Promise<void> {
    gateway = await openGateway(
      { UPSTREAM_BASE_URL: backend.baseUrl, ...settings },
      { acceptedCallers: await allStrangers() },
    );
  }

  async function listOf(path: string): Promise<readonly unknown[]> {
    return ((await (await gateway.get(path)).json()) as { data: unknown[] }).data;
  }

  for (const status of [400, 403, 404, 429, 500, 504]) {
    it(`leaves neither a record nor usage after a ${status} of the backend`, async () => {
      await open();
      backend.reply({ json: { error: { message: 'API key not valid' } }, status }, answer());
      await (await gateway.create(REQUEST)).text();
      expect([await listOf('/api/v1/requests'), await listOf('/api/v1/usage')]).to.deep.equal([[], []]);

      // Once it was accepted it has records like everybody.
      await (await gateway.create(REQUEST)).text();
      backend.reply({ json: { error: { message: 'No such model' } }, status: 400 });
      await (await gateway.create(REQUEST)).text();
      await until(async () => (await listOf('/api/v1/requests')).length === 2);
    });
  }

  it('leaves no record when it goes away before the backend answers', async () => {
    await open();
    backend.reply(({ hang }) => hang());
    const leaving = new AbortController();
    const gone = gateway.create(REQUEST, { signal: leaving.signal }).catch(() => undefined);
    const { closed } = await backend.request(1);
    leaving.abort();
    await gone;
    await closed;
    await until(async () => (await listOf('/api/v1/requests')).length === 0);
    expect(await listOf('/api/v1/usage')).to.deep.equal([]);
  });

  it('has an eighth of what an accepted one has, which a restart does not forget', async () => {
    const workshop = makeWorkshop();
    try {
      const settings = {
        UPSTREAM_BASE_URL: backend.baseUrl,
        GATEWAY_SECRET: 'a secret that stays',
        MAX_CONCURRENT_REQUESTS: '16',
      };
      const openAgain = async () => {
        gateway = await openGatewayAsItIs(settings, { store: await workshop.open() });
      };
      await openAgain();
      expect(await runAtOnce('made-up')).to.equal(2);
      backend.reply(answer());
      await (await gateway.create(REQUEST)).text();
      await allArrived();
      expect(await runAtOnce(TEST_KEY)).to.equal(12);
      await gateway.close();
      await openAgain();
      expect(await runAtOnce(TEST_KEY)).to.equal(12);
    } finally {
      await gateway.close();
      await workshop.clear();
    }
  });

  const body = { stream: true, model: 'm', input: 'Hello', messages: [] };
  for (const path of ['/api/v1/responses', '/v1/chat/completions']) {
    it(`is accepted when its first answer from ${path} begins, and is a stranger no longer`, async () => {
      gateway = await openGatewayAsItIs({ UPSTREAM_BASE_URL: backend.baseUrl, MAX_CONCURRENT_REQUESTS: '16' });
      backend.reply(stream([text('Hello')], 'hang'));
      const leaving = new AbortController();
      const reply = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: leaving.signal,
      });
      await reply.body?.getReader().read();
      // The stream does not take from the two requests of strangers.
      expect([await runAtOnce('made-up'), await runAtOnce(TEST_KEY)]).to.deep.equal([2, 11]);
      leaving.abort();
    });
  }

  it('is not accepted by a list of models, which often needs no key', async () => {
    gateway = await openGatewayAsItIs({ UPSTREAM_BASE_URL: backend.baseUrl, MAX_CONCURRENT_REQUESTS: '16' });
    backend.reply({ json: { object: 'list', data: [] } });
    await (await gateway.get('/v1/models')).text();
    await allArrived();
    expect(await runAtOnce(TEST_KEY)).to.equal(2);
  });

  it('is warned of once where a proxy is in front that is not trusted', async () => {
    const lines: string[] = [];
    const log = createLogger('warn', { write: (line) => void lines.push(line) });
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { log });
    for (let n = 0; n < 3; n++) {
      const headers = { 'x-forwarded-for': '192.0.2.1' };
      await (await fetch(`${gateway.url}/healthz`, { headers })).text();
    }
    expect(lines.filter((line) => line.includes('TRUST_PROXY'))).to.have.length(1);
  });

  /** How many requests of a key the gateway takes at once. */
  async function runAtOnce(key: string): Promise<number> {
    const leaving = new AbortController();
    backend.always(({ hang }) => hang());
    const before = backend.requests.length;
    let refused = 0;
    const ask = async (): Promise<void> => {
      try {
        const reply = await gateway.create(REQUEST, {
          signal: leaving.signal,
          headers: { authorization: `Bearer ${key}` },
        });
        expect(reply.status).to.equal(429);
        refused += 1;
      } catch (error) {
        if (!leaving.signal.aborted) throw error;
      }
    };
    const asked = Array.from({ length: 16 }, ask);
    await until(() => refused + backend.requests.length - before === 16);
    const running = backend.requests.slice(before);
    leaving.abort();
    await Promise.all(asked);
    await Promise.all(running.map(({ closed }) => closed));
    return running.length;
  }
});
