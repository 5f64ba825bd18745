/** A backend whose name leads to several pods, which come and go. */

import { hostname } from 'node:os';
import { expect } from 'chai';
import type { AdminBackend, AdminBackendList } from '../../src/contract/operator-types.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { startNameServer, type NameServer } from '../support/name-server.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';

const KEY = 'static-key-of-a-caller';
const ADMIN_TOKEN = 'an-admin-token-of-32-characters-';

describe('a backend whose name has several addresses', () => {
  useRealSockets();

  let pods: ScriptedBackend[];
  let names: NameServer;
  let nowMs: number;
  let gateway: TestGateway | undefined;
  let lines: Readonly<Record<string, unknown>>[];

  beforeEach(async () => {
    const first = await startScriptedBackend();
    pods = [first, await startScriptedBackend(first.port, undefined, '127.0.0.2')];
    for (const pod of pods) pod.always(answer());
    names = await startNameServer(['127.0.0.1', '127.0.0.2']);
    [nowMs, lines] = [0, []];
  });
  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
    await Promise.all([names, ...pods].map((server) => server.close()));
  });

  async function open(): Promise<void> {
    const log = createLogger('info', { write: (line) => void lines.push(JSON.parse(line)) });
    const UPSTREAM_BASE_URL = `http://vllm.test:${pods[0]?.port}/v1`;
    const settings = { AUTH_MODE: 'static', API_KEYS: KEY, ADMIN_TOKEN, UPSTREAM_BASE_URL, PASSTHROUGH_PATHS: '/v1/x' };
    gateway = await openGateway(settings, { log, lookup: names.lookup(() => nowMs) });
    await until(async () => (await shown()).addresses.length === names.addresses.length);
  }
  async function ask(conversation: number, path = '/v1/responses'): Promise<number> {
    const reply = await fetch(`${gateway?.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'm',
        prompt_cache_key: `conversation-${conversation}`,
        ...(path === '/v1/responses'
          ? { input: `conversation-${conversation}` }
          : { messages: [{ role: 'user', content: `conversation-${conversation}` }] }),
      }),
    });
    await reply.text();
    return reply.status;
  }
  async function askAll(path?: string): Promise<readonly number[]> {
    const statuses: number[] = [];
    for (let one = 0; one < 20; one += 1) statuses.push(await ask(one, path));
    return statuses;
  }
  const ALL_ANSWERED = Array.from({ length: 20 }, () => 200);
  const keysAt = (pod: number): readonly unknown[] =>
    (pods[pod]?.requests ?? []).map(({ text }) => /conversation-\d+/.exec(text)?.[0]);
  const shown = async (): Promise<AdminBackend> => {
    const reply = await fetch(`${gateway?.url}/admin/v1/backends`, {
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    });
    const { gateway: gatewayName, data } = (await reply.json()) as AdminBackendList;
    expect(gatewayName).to.equal(hostname());
    const [backend, ...others] = data;
    if (backend === undefined || others.length > 0) throw new Error('there is one backend');
    return backend;
  };

  for (const path of ['/v1/responses', '/v1/chat/completions']) {
    it(`is balanced over them, a conversation of responses stays at its address, and the name is that of the backend: ${path}`, async () => {
      await open();
      expect([await askAll(path), await askAll(path)]).to.deep.equal([ALL_ANSWERED, ALL_ANSWERED]);
      const [first, second] = [new Set(keysAt(0)), new Set(keysAt(1))];
      // What is passed through unread takes turns.
      const isRead = path === '/v1/responses';
      expect([first.size > 3, second.size > 3]).to.deep.equal([true, true]);
      if (isRead) expect(first.size + second.size).to.equal(20);
      const hosts = new Set(pods.flatMap((pod) => pod.requests.map(({ headers }) => headers.host)));
      expect(hosts).to.deep.equal(new Set([`vllm.test:${pods[0]?.port}`]));
      expect(await shown()).to.include({ name: 'upstream', state: 'up', answered: 40, running: 0 });
    });
  }

  it('fails no request when one of them is gone, which rests by itself', async () => {
    await open();
    await askAll();
    await pods[1]?.close();
    expect(await askAll()).to.deep.equal(ALL_ANSWERED);
    const rests = lines.filter(({ msg }) => msg === 'the backend has failed and rests');
    expect(new Set(rests.map(({ address }) => address))).to.deep.equal(new Set(['127.0.0.2']));
    expect(await shown()).to.include({ state: 'up', answered: 40 });
    expect(await shown())
      .to.have.property('addresses')
      .that.containSubset([
        { address: '127.0.0.1', state: 'up', resting_until: null },
        { address: '127.0.0.2', state: 'resting', reason: 'upstream_unreachable' },
      ]);
    const ready = (await (await fetch(`${gateway?.url}/readyz`)).json()) as { backends: object };
    expect(ready.backends).to.include({ up: 1, resting: 1 });
  });

  it('is looked up again after a failed connection, and a pod that has come gets its part', async () => {
    names.addresses = ['127.0.0.1', '127.0.0.3'];
    await open();
    const before = names.queries;
    names.addresses = ['127.0.0.1', '127.0.0.2'];
    nowMs += 60_000;
    expect(await askAll()).to.deep.equal(ALL_ANSWERED);
    await until(() => names.queries > before);
    expect(await askAll()).to.deep.equal(ALL_ANSWERED);
    expect(keysAt(1)).to.not.deep.equal([]);
    expect(await shown()).to.include({ state: 'up', answered: 40 });
  });

  it('keeps its addresses when the name is gone from the name server, and while that is silent', async () => {
    const third = await startScriptedBackend(pods[0]?.port, undefined, '127.0.0.3');
    third.always(answer());
    pods.push(third);
    names.addresses = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
    await open();
    await askAll();
    for (const [at, change] of [{ addresses: [] }, { isSilent: true }].entries()) {
      Object.assign(names, change);
      const before = names.queries;
      nowMs += 60_000;
      // A connection that fails has the name looked up at once.
      await pods[at + 1]?.close();
      expect(await askAll()).to.deep.equal(ALL_ANSWERED);
      await until(() => names.queries > before);
    }
    expect([keysAt(1), keysAt(2)]).to.not.include.deep.members([[]]);
  });

  it('answers what names no model as well', async () => {
    await open();
    expect(await ask(0, '/v1/x')).to.equal(200);
  });
});
