/** The commit of a record beside the call of the backend: where that may be, and that nothing is told before. */

import { expect } from 'chai';
import { ApiError } from '../../src/core/errors.ts';
import type { TestSettings } from '../support/settings.ts';
import { openStore } from '../../src/store/open.ts';
import { callerOf, readError, type Caller } from './caller.ts';
import { answer } from './chunks.ts';
import { callerBy, KINDS } from './web-socket-caller.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { listen } from '../support/heard.ts';
import { makeHeld, type HeldStore } from '../support/held-store.ts';
import { openManagedGateway } from '../support/managed.ts';
import { PATIENT } from '../support/patient.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { makeWorkshop } from '../support/sqlite.ts';
import { allArrived, until } from '../support/time.ts';

const REQUEST = { model: 'm', input: 'Hello' };
const CHAT = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] };
const KEY = { 'idempotency-key': 'key-1' };

describe('a record that is being written', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let store: HeldStore;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer());
    store = makeHeld(await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, limits: PATIENT }));
  });

  afterEach(async () => {
    store.letGo();
    await gateway.close();
    await backend.close();
  });

  async function open(settings: TestSettings = {}): Promise<Caller> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings }, { store });
    return callerOf(gateway.url);
  }

  async function openManaged(limits: { requestsPerMinute?: number } = {}): Promise<Caller> {
    const managed = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { store });
    gateway = managed;
    return callerOf(managed.url, (await managed.issue({ limits })).secret);
  }

  for (const kind of KINDS) {
    it(`does not hold the backend up, and nothing is told before it is on disk (${kind})`, async () => {
      await open({ headerHoldMs: 0 });
      const accepting = store.hold('accept');
      const heard = listen(callerBy(kind, gateway.url).create({ ...REQUEST, stream: kind === 'stream' }));
      await accepting;
      await (
        await backend.request(1)
      ).closed;
      await allArrived();
      expect(heard.status).to.equal(0);
      store.letGo();
      await until(() => heard.isOver);
      expect(heard.status).to.equal(200);
      expect((await callerOf(gateway.url).record(heard.requestId)).status).to.equal('succeeded');
    });
  }

  for (const stream of [false, true]) {
    it(`does not hold a chat completion of a key without limits up (${stream ? 'stream' : 'json'})`, async () => {
      const caller = await openManaged();
      const accepting = store.hold('accept');
      const heard = listen(caller.complete({ ...CHAT, stream }));
      await accepting;
      await backend.request(1);
      await allArrived();
      expect(heard.status).to.equal(0);
      store.letGo();
      await until(() => heard.isOver);
      expect(heard.status).to.equal(200);
    });
  }

  for (const { name, ask } of [
    { name: 'an idempotency key', ask: async () => (await open()).create(REQUEST, { headers: KEY }) },
    { name: 'a limit of the key', ask: async () => (await openManaged({ requestsPerMinute: 9 })).create(REQUEST) },
  ]) {
    it(`comes before the backend where ${name} depends on it`, async () => {
      const accepting = store.hold('accept');
      const heard = listen(ask());
      await accepting;
      await allArrived();
      expect(backend.requests).to.deep.equal([]);
      store.letGo();
      await until(() => heard.isOver);
      expect(heard.status).to.equal(200);
      expect(backend.requests).to.have.lengthOf(1);
    });
  }

  for (const kind of KINDS) {
    it(`ends the call of the backend with a 503 when it cannot be written (${kind})`, async () => {
      await open();
      backend.reply(({ hang }) => hang());
      const accepting = store.hold('accept');
      const asking = callerBy(kind, gateway.url).create({ ...REQUEST, stream: kind === 'stream' });
      const asked = await backend.request(1);
      await accepting;
      store.letGo(new ApiError('store_unavailable'));
      const refused = await asking;
      expect(refused.status).to.equal(503);
      expect((await readError(refused)).code).to.equal('store_unavailable');
      expect((await asked.closed).aborted).to.equal(true);
      expect(await (await callerOf(gateway.url).get('/api/v1/requests')).json()).to.have.property('data').that.is.empty;
    });
  }

  it('decides when the backend fails before it', async () => {
    const caller = await open();
    backend.reply({ json: {}, status: 500 });
    const accepting = store.hold('accept');
    const heard = listen(caller.create(REQUEST));
    await accepting;
    await (
      await backend.request(1)
    ).closed;
    await allArrived();
    expect(heard.status).to.equal(0);
    store.letGo();
    await until(() => heard.isOver);
    expect(heard.status).to.equal(502);
    expect((await caller.record(heard.requestId)).status).to.equal('failed');
  });

  it('ends cancelled when its client leaves meanwhile', async () => {
    const caller = await open();
    backend.reply(({ hang }) => hang());
    store.hold('accept').catch(() => undefined);
    const leaving = new AbortController();
    const asking = caller.create(REQUEST, { signal: leaving.signal });
    asking.catch(() => undefined);
    const asked = await backend.request(1);
    leaving.abort();
    expect((await asked.closed).aborted).to.equal(true);
    store.letGo();
    const list = async () => {
      const reply = await caller.get('/api/v1/requests');
      return ((await reply.json()) as { data: { status: string; error: { code: string } | null }[] }).data;
    };
    await until(async () => (await list())[0]?.status === 'cancelled');
    expect((await list())[0]?.error?.code).to.equal('client_disconnected');
  });

  it('comes before the backend while the store fails', async () => {
    const workshop = makeWorkshop();
    const failing = await workshop.open();
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { store: failing });
    await failing.pragma('query_only = 1');
    backend.reply(({ hang }) => hang());
    expect((await gateway.create(REQUEST)).status).to.equal(503);
    const asked = backend.requests.length;
    expect((await gateway.create(REQUEST)).status).to.equal(503);
    expect(backend.requests).to.have.lengthOf(asked);
    await failing.pragma('query_only = 0');
    await workshop.clear();
  });
});
