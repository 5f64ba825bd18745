/** Several backends in BACKENDS_FILE, from the request to what the caller gets. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { answer, stream } from '../records/chunks.ts';
import { readError } from '../records/caller.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const HEADERS = { authorization: 'Bearer static-key', 'content-type': 'application/json' };
const ADMIN_TOKEN = 'admin-token-canary-1';
const ROLE = { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] };
const KEYS = { A_KEY: 'key-of-a', B_KEY: 'key-of-b' };

function failing(status: number, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers, json: { error: { message: 'not now' } } };
}

describe('BACKENDS_FILE', () => {
  useRealSockets();

  let folder: string;
  let file: string;
  let a: ScriptedBackend;
  let b: ScriptedBackend;
  let gateway: TestGateway | undefined;
  let nowMs: number;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'backends-'));
    file = join(folder, 'backends.json');
    a = await startScriptedBackend();
    b = await startScriptedBackend();
    a.always(answer('from a'));
    b.always(answer('from b'));
    nowMs = Date.now();
  });

  afterEach(async () => {
    await gateway?.close();
    gateway = undefined;
    await Promise.all([a.close(), b.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  function write(ofA: object = {}, ofB: object = {}, policy: object = {}): void {
    const backends = [
      { name: 'a', base_url: a.baseUrl, api_key_env: 'A_KEY', ...ofA },
      { name: 'b', base_url: b.baseUrl, api_key_env: 'B_KEY', ...ofB },
    ];
    writeFileSync(file, JSON.stringify({ backends, expose_upstream: true, ...policy }));
  }

  function open(settings: Readonly<Record<string, string>> = {}): Promise<TestGateway> {
    return openGateway(
      {
        BACKENDS_FILE: file,
        AUTH_MODE: 'static',
        API_KEYS: 'static-key',
        ...KEYS,
        ...settings,
      },
      { nowMs: () => nowMs },
    );
  }

  function ask(opened: TestGateway, body: object = {}, path: Path = 'responses'): Promise<Response> {
    return fetch(`${opened.url}/v1/${path}`, {
      method: 'POST',
      headers: HEADERS,
      body: JSON.stringify({ model: 'm', ...HELLO[path], prompt_cache_key: 'one', ...body }),
    });
  }

  /** Which of them a conversation goes to first, and the other one. */
  async function inOrder(opened: TestGateway, path?: Path): Promise<readonly [ScriptedBackend, ScriptedBackend]> {
    const name = (await ask(opened, {}, path)).headers.get('x-upstream');
    return name === 'a' ? [a, b] : [b, a];
  }

  function nameOf(backend: ScriptedBackend): string {
    return backend === a ? 'a' : 'b';
  }

  it('sends each model to the backend that has it, by its name there and with its key', async () => {
    write({ models: ['qwen3-32b', 'llama-*'], aliases: { 'gpt-5': 'qwen3-32b' } }, { models: ['tiny'] });
    gateway = await open({ MODEL_ALIASES: '{"default": "gpt-5"}' });
    for (const model of ['gpt-5', 'default', 'llama-3', 'tiny'])
      expect((await ask(gateway, { model })).status).to.equal(200);
    const seen = [...a.requests, ...b.requests].map(({ headers, body }) => [headers.authorization, modelOf(body)]);
    expect(seen).to.deep.equal([
      ['Bearer key-of-a', 'qwen3-32b'],
      ['Bearer key-of-a', 'qwen3-32b'],
      ['Bearer key-of-a', 'llama-3'],
      ['Bearer key-of-b', 'tiny'],
    ]);
  });

  it('does not know a model that no backend has, on either endpoint', async () => {
    write({ models: ['x'] }, { models: ['y'] });
    gateway = await open();
    expect(await readError(await ask(gateway))).to.include({ code: 'model_not_found' });
    expect(await readError(await ask(gateway, {}, 'chat/completions'))).to.include({ code: 'model_not_found' });
  });

  for (const [path, stream] of [
    ['responses', false],
    ['responses', true],
    ['chat/completions', true],
  ] as const) {
    for (const [name, reply, rests] of [
      ['has too much to do', failing(503), false],
      ['has reached its rate limit', failing(429, { 'retry-after': '30' }), true],
    ] as const) {
      it(`asks the other one where the first ${name} (${path}, stream: ${stream})`, async () => {
        write();
        gateway = await open();
        const [first, second] = await inOrder(gateway, path);
        first.reply(reply);
        const answered = await ask(gateway, { stream }, path);
        expect(answered.status).to.equal(200);
        expect(await answered.text()).to.contain(second === a ? 'from a' : 'from b');
        expect(answered.headers.get('x-upstream')).to.equal(second === a ? 'a' : 'b');
        await (await ask(gateway, { stream }, path)).text();
        expect([first.requests.length, second.requests.length]).to.deep.equal(rests ? [2, 2] : [3, 1]);
        nowMs += 61_000;
        await (await ask(gateway, { stream }, path)).text();
        expect(first.requests.length).to.equal(rests ? 3 : 4);
      });
    }
  }

  it('asks the other one where no connection can be made', async () => {
    write();
    gateway = await open();
    const [first] = await inOrder(gateway);
    await first.close();
    expect((await ask(gateway)).status).to.equal(200);
  });

  it('asks no other one after a 400, and lets nobody rest for it', async () => {
    write();
    gateway = await open();
    const [first, second] = await inOrder(gateway);
    for (let count = 0; count < 5; count++) {
      first.reply(failing(400));
      expect((await ask(gateway)).status).to.equal(400);
    }
    await ask(gateway);
    expect([first.requests.length, second.requests.length]).to.deep.equal([7, 0]);
  });

  for (const [path, failover, status] of [
    ['responses', 'safe', 502],
    ['responses', 'any', 200],
    ['chat/completions', 'safe', 500],
    ['chat/completions', 'any', 200],
  ] as const) {
    it(`answers ${status} (${path}) after a 500 with failover ${failover}`, async () => {
      write({}, {}, { failover });
      gateway = await open();
      const [first] = await inOrder(gateway, path);
      first.reply(failing(500));
      expect((await ask(gateway, {}, path)).status).to.equal(status);
    });
  }

  for (const [failover, ending] of [
    ['safe', 'response.failed'],
    ['any', 'response.completed'],
  ] as const) {
    it(`ends with ${ending} where the first has said nothing but its role, with failover ${failover}`, async () => {
      write({}, {}, { failover });
      gateway = await open();
      const [first, second] = await inOrder(gateway);
      first.reply(stream([ROLE], 'cut'));
      const reply = await ask(gateway, { stream: true });
      expect(await reply.text()).to.contain(`event: ${ending}`);
      const [name, count] = failover === 'any' ? [nameOf(second), 1] : [nameOf(first), 0];
      expect([reply.headers.get('x-upstream'), second.requests.length]).to.deep.equal([name, count]);
    });
  }

  it('goes to no other one after output', async () => {
    write({}, {}, { failover: 'any' });
    gateway = await open();
    const [first, second] = await inOrder(gateway);
    first.reply(async ({ sse, cut }) => {
      await sse({ choices: [{ index: 0, delta: { content: 'Hel' } }] });
      cut();
    });
    const text = await (await ask(gateway, { stream: true })).text();
    expect(text).to.contain('event: response.failed');
    expect(second.requests.length).to.equal(0);
  });

  it('says when to try again where all rest and refuse it too, and frees the idempotency key', async () => {
    write();
    gateway = await open();
    a.always(failing(429, { 'retry-after': '20' }));
    b.always(failing(429, { 'retry-after': '10' }));
    expect((await ask(gateway)).status).to.equal(429);
    const refused = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { ...HEADERS, 'idempotency-key': 'one' },
      body: JSON.stringify({ model: 'm', input: 'Hello' }),
    });
    expect(refused.headers.get('retry-after')).to.equal('10');
    expect(await readError(refused)).to.include({ code: 'no_backend_available' });
    b.always(answer('again'));
    const again = await fetch(`${gateway.url}/v1/responses`, {
      method: 'POST',
      headers: { ...HEADERS, 'idempotency-key': 'one' },
      body: JSON.stringify({ model: 'm', input: 'Hello' }),
    });
    expect(again.status).to.equal(200);
  });

  for (const expose_upstream of [true, false]) {
    it(`keeps the backend that answered in the record, which callers see with expose_upstream ${expose_upstream}`, async () => {
      write({ models: ['x'] }, { models: ['m'] }, { expose_upstream });
      gateway = await open();
      const answered = await ask(gateway);
      const requestId = String(answered.headers.get('x-request-id'));
      const shown = await (await fetch(`${gateway.url}/v1/requests/${requestId}`, { headers: HEADERS })).json();
      expect(shown).to.include({ status: 'succeeded', upstream: expose_upstream ? 'b' : null });
      expect(answered.headers.get('x-upstream')).to.equal(expose_upstream ? 'b' : null);
    });
  }

  it('tells callers nothing of any backend without expose_upstream, however it answers', async () => {
    const [ofA, ofB] = ['a', 'b'].map((name) => ({ name: `box-of-${name}` }));
    write(ofA, ofB, { expose_upstream: false, failover: 'any' });
    const opened = await open({ PASSTHROUGH_PATHS: '/v1/files' });
    gateway = opened;
    const told: string[] = [];
    const note = async (reply: Response): Promise<void> => {
      told.push(`${reply.status} ${JSON.stringify([...reply.headers])} ${await reply.text().catch(() => '')}`);
    };
    const here = (path: string): Promise<Response> => fetch(`${opened.url}/v1/${path}`, { headers: HEADERS });
    const served = { 'x-served-by': 'box-of-a', 'x-upstream': 'box-of-b', server: 'box-of-a', location: a.baseUrl };
    const ways: readonly Reply[] = [
      answer(),
      ...[307, 400, 401, 404, 422, 429, 500, 503].map((status) => failing(status, served)),
      { status: 502, text: `<html>${a.baseUrl}</html>`, headers: { 'content-type': 'text/html' } },
      stream([ROLE], 'cut'),
      ({ cut }) => cut(),
    ];
    for (const way of ways) {
      for (const backend of [a, b]) backend.always(way);
      for (const path of ['responses', 'chat/completions'] as const) {
        for (const stream of [false, true]) await note(await ask(opened, { stream }, path));
      }
      for (const path of ['models', 'models/m', 'files/f']) await note(await here(path));
      // What rests would not be asked.
      nowMs += 3_600_000;
    }
    await Promise.all([a.close(), b.close()]);
    for (const path of ['responses', 'chat/completions'] as const) await note(await ask(opened, {}, path));
    for (const path of ['models', 'requests', 'usage']) await note(await here(path));
    const places = [a, b].map(({ baseUrl }) => new URL(baseUrl).host);
    for (const secret of ['box-of', ...places, ...Object.values(KEYS)]) {
      expect(told.filter((text) => text.includes(secret))).to.deep.equal([]);
    }
    expect(new Set(told.map((text) => text.slice(0, 3)))).to.include.all.keys('200', '400', '422', '429', '502', '503');
  });

  it('lists the models of all, and what is known of one that does not answer', async () => {
    write({ models: ['x', 'llama-*'], aliases: { other: 'x' } }, { models: ['y'] });
    gateway = await open();
    a.always({ json: { object: 'list', data: [{ id: 'x' }, { id: 'llama-3' }, { id: 'hidden' }] } });
    b.always(failing(500));
    const list = await (await fetch(`${gateway.url}/v1/models`, { headers: HEADERS })).json();
    expect(idsOf(list)).to.deep.equal(['x', 'llama-3', 'y', 'other']);
    for (const [id, status] of Object.entries({ 'llama-3': 200, other: 200, 'llama-4': 404 })) {
      a.always({ json: { detail: 'Not Found' }, status: 404 });
      expect((await fetch(`${gateway.url}/v1/models/${id}`, { headers: HEADERS })).status).to.equal(status);
    }
  });

  it('tells the operator how the backends are, and is ready while they rest for what requests may have provoked', async () => {
    write({ models: ['m', 'n'] }, { models: ['m'] });
    const opened = await open({ ADMIN_TOKEN });
    gateway = opened;
    const ready = async () => {
      const reply = await fetch(`${gateway?.url}/readyz`);
      return [reply.status, ((await reply.json()) as { backends: unknown }).backends];
    };
    const admin = async (path: string) => {
      const reply = await fetch(`${gateway?.url}/admin/v1/${path}`, {
        headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      });
      return ((await reply.json()) as { data: Record<string, unknown>[] }).data;
    };
    const [first, second] = await inOrder(gateway);
    const failThrice = async (backend: ScriptedBackend): Promise<void> => {
      for (let count = 0; count < 3; count += 1) {
        backend.reply(failing(500));
        await (await ask(opened)).text();
      }
    };
    await failThrice(first);
    const name = first === a ? 'a' : 'b';
    expect((await admin('backends')).find((backend) => backend['name'] === name)).to.deep.include({
      state: 'resting',
      reason: 'upstream_error',
      resting_until: Math.ceil((nowMs + 1000) / 1000),
      answered: 1,
      failed: 3,
      rests: 1,
    });
    expect(await ready()).to.deep.equal([200, { up: 1, trial: 0, resting: 1, draining: 0 }]);
    await failThrice(second);
    expect(await ready()).to.deep.equal([200, { up: 0, trial: 0, resting: 2, draining: 0 }]);
    nowMs += 1000;
    expect(await ready()).to.deep.equal([200, { up: 0, trial: 2, resting: 0, draining: 0 }]);
    a.always(failing(500));
    b.always({ json: { object: 'list', data: [{ id: 'm', owned_by: 'us' }, { id: 'hidden' }] } });
    expect(await admin('models')).to.deep.equal([
      { id: 'm', object: 'model', created: 0, owned_by: 'unknown', backends: ['a', 'b'] },
      { id: 'n', object: 'model', created: 0, owned_by: 'unknown', backends: ['a'] },
    ]);
  });

  it('reads the file again, and keeps what it said before a mistake', async () => {
    write({ models: ['m'] }, { models: ['other'] });
    gateway = await open();
    expect((await ask(gateway)).headers.get('x-upstream')).to.equal('a');
    write({ models: ['other'] }, { models: ['m'] });
    gateway.reload();
    expect((await ask(gateway)).headers.get('x-upstream')).to.equal('b');
    write({ models: [] });
    gateway.reload();
    expect((await ask(gateway)).headers.get('x-upstream')).to.equal('b');
  });

  it('passes a chat completion on to the backend of its model, and to the next where there is no connection', async () => {
    write({ models: ['x'] }, { models: ['x', 'y'], aliases: { z: 'y' } });
    gateway = await open();
    await (await ask(gateway, { model: 'z' }, 'chat/completions')).text();
    expect(modelOf(b.requests[0]?.body)).to.equal('y');
    expect(b.requests[0]?.headers.authorization).to.equal('Bearer key-of-b');
    await a.close();
    expect((await ask(gateway, { model: 'x' }, 'chat/completions')).status).to.equal(200);
  });

  it('passes other paths on by the model of a JSON body, and to the first backend without one', async () => {
    write({ models: ['x'] }, { models: ['y'], aliases: { z: 'y' } });
    gateway = await open({ PASSTHROUGH_PATHS: '/v1/embeddings' });
    a.always({ json: { from: 'a' } });
    b.always({ json: { from: 'b' } });
    const send = async (init: RequestInit) => {
      const reply = await fetch(`${gateway?.url}/v1/embeddings`, { headers: HEADERS, ...init });
      return [reply.headers.get('x-upstream'), ((await reply.json()) as { from?: string }).from];
    };
    const post = (body: object) => send({ method: 'POST', body: JSON.stringify(body) });
    expect(await post({ model: 'z', input: 'Hello' })).to.deep.equal(['b', 'b']);
    expect(b.requests[0]?.body).to.deep.equal({ model: 'y', input: 'Hello' });
    expect(b.requests[0]?.headers.authorization).to.equal('Bearer key-of-b');
    expect(await post({ model: 'x', input: 'Hello' })).to.deep.equal(['a', 'a']);
    expect(await post({ input: 'Hello' })).to.deep.equal(['a', 'a']);
    expect(await send({ method: 'GET' })).to.deep.equal(['a', 'a']);
    const headers = { ...HEADERS, 'content-type': 'application/octet-stream' };
    expect(await send({ method: 'POST', headers, body: '{"model":"y"}' })).to.deep.equal(['a', 'a']);
    expect(await post({ model: 'unknown' })).to.deep.equal([null, undefined]);
  });
});

type Path = keyof typeof HELLO;
const HELLO = { responses: { input: 'Hello' }, 'chat/completions': { messages: [{ role: 'user', content: 'Hello' }] } };

function modelOf(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'model' in body ? body.model : undefined;
}

function idsOf(list: unknown): unknown {
  if (typeof list !== 'object' || list === null || !('data' in list) || !Array.isArray(list.data)) return undefined;
  return list.data.map((model: { readonly id?: unknown }) => model.id);
}
