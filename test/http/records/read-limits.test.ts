import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { createIdentities } from '../../../src/identity/identities.ts';
import { allStrangers, openGateway, TEST_KEY, type TestGateway } from '../../support/gateway.ts';
import { openManagedGateway } from '../../support/managed.ts';
import { sendTimes } from '../../support/raw-request.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';
import { useRealSockets } from '../../support/real-sockets.ts';

const MINUTE_MS = 60_000;
const SECRET = 'a secret of some length for these tests';
const RECORD = '/api/v1/requests/req_0123456789abcdef0123456789abcdef';
const OTHER_KEY = 'another-key-of-some-length';

describe('reading records', () => {
  useRealSockets();

  let nowMs: number;
  let workshop: Workshop;
  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let arrived: PromiseWithResolvers<void>;
  let held: PromiseWithResolvers<void>;

  beforeEach(async () => {
    nowMs = 1_790_000_000 * 1000 - 20_000;
    arrived = Promise.withResolvers();
    held = Promise.withResolvers();
    held.resolve();
    workshop = makeWorkshop();
    backend = await startScriptedBackend();
    const store = await workshop.open({ file: undefined });
    let lists = 0;
    const slow: typeof store = {
      ...store,
      async list(caller, query) {
        lists += 1;
        if (lists === 2) arrived.resolve();
        await held.promise;
        return store.list(caller, query);
      },
    };
    const acceptedCallers = await allStrangers();
    acceptedCallers.add(createIdentities(SECRET, null).caller(TEST_KEY));
    acceptedCallers.add(createIdentities(SECRET, null).caller(OTHER_KEY));
    gateway = await openGateway(
      { UPSTREAM_BASE_URL: backend.baseUrl, GATEWAY_SECRET: SECRET },
      { store: slow, nowMs: () => nowMs, acceptedCallers },
    );
  });
  afterEach(async () => {
    held.resolve();
    await gateway.close();
    await backend.close();
    await workshop.clear();
  });

  async function read(path = RECORD, key: string = TEST_KEY): Promise<Response> {
    const reply = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } });
    await reply.clone().text();
    return reply;
  }

  it('counts the limits of a key and single models, while a cancel has a minute of its own', async () => {
    await sendTimes(gateway.url, 600, { line: `GET ${RECORD}` });
    expect((await read('/api/v1/key')).status).to.equal(429);
    expect((await read('/api/v1/models/m')).status).to.equal(429);
    expect(backend.requests).to.have.length(0);
    const cancels = await sendTimes(gateway.url, 601, { line: `POST ${RECORD}/cancel` });
    expect(cancels).to.deep.equal([...Array.from({ length: 600 }, () => 404), 429]);
  });

  it('has a minute of its own, for each key', async () => {
    const statuses = await sendTimes(gateway.url, 600, { line: `GET ${RECORD}` });
    expect([...new Set(statuses)]).to.deep.equal([404]);
    const refused = await read('/api/v1/usage');
    expect(refused.status).to.equal(429);
    expect(refused.headers.get('retry-after')).to.equal(String(Math.ceil((MINUTE_MS - (nowMs % MINUTE_MS)) / 1000)));
    expect(await refused.json()).to.have.nested.property('error.code', 'rate_limit_exceeded');
    expect((await read('/api/v1/requests')).status).to.equal(429);
    expect((await read(RECORD, OTHER_KEY)).status).to.equal(404);
    nowMs += MINUTE_MS;
    expect((await read('/api/v1/requests')).status).to.equal(200);
  });

  it('runs two lists of a key at once, of usage and of the key itself too', async () => {
    held = Promise.withResolvers();
    const running = [read('/api/v1/requests'), read('/api/v1/requests')];
    await arrived.promise;
    const refused = await read('/api/v1/requests?status=failed');
    expect(refused.status).to.equal(429);
    expect(refused.headers.get('retry-after')).to.equal('1');
    expect(await refused.json()).to.have.nested.property('error.code', 'rate_limit_exceeded');
    expect((await read()).status).to.equal(404);
    for (const path of ['/api/v1/usage', '/api/v1/key']) {
      const headers = { authorization: `Bearer ${TEST_KEY}`, 'idempotency-key': 'key-1' };
      const reply = await fetch(`${gateway.url}${path}`, { headers });
      expect([reply.status, reply.headers.get('retry-after')], path).to.deep.equal([429, '1']);
      await reply.text();
    }
    held.resolve();
    expect((await Promise.all(running)).map(({ status }) => status)).to.deep.equal([200, 200]);
    expect((await read('/api/v1/requests')).status).to.equal(200);
  });

  it('counts the strangers of a network as one, however many keys they make up', async () => {
    held = Promise.withResolvers();
    const running = ['made-up-1', 'made-up-2'].map((key) => read('/api/v1/requests', key));
    await arrived.promise;
    expect((await read('/api/v1/requests', 'made-up-3')).status).to.equal(429);
    held.resolve();
    expect((await Promise.all(running)).map(({ status }) => status)).to.deep.equal([200, 200]);
  });
});

describe('reading records with a key of many requests per minute', () => {
  useRealSockets();

  it('may be done ten times for each of them', async () => {
    const backend = await startScriptedBackend();
    const nowMs = () => 1_790_000_000_000;
    const gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { nowMs });
    try {
      const { secret } = await gateway.issue({ limits: { requestsPerMinute: 61 } });
      const headersOf = () => ({ authorization: `Bearer ${secret}` });
      const statuses = await sendTimes(gateway.url, 611, { line: `GET ${RECORD}`, headersOf });
      expect(statuses).to.deep.equal([...Array.from({ length: 610 }, () => 404), 429]);
    } finally {
      await gateway.close();
      await backend.close();
    }
  });
});
