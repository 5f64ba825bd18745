import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import type { GatewayOverrides } from '../../src/gateway.ts';
import type { TestSettings } from '../support/settings.ts';
import type { RequestRecord } from '../../src/contract/types.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { untilRead } from '../support/time.ts';
import { NO_CALLERS } from '../../src/accounts/accepted-callers.ts';
import { callerOf, expectRecord, readError, readRecord, type Caller } from './caller.ts';
import { answer, KNOWN_USAGE, stream, text } from './chunks.ts';

/** Too long to be guessed. */
const LONG_KEY = 'a-key-of-many-characters';

interface Page {
  readonly object: string;
  readonly data: readonly RequestRecord[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

describe('the records of a caller', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let caller: Caller;
  let workshop: Workshop;

  beforeEach(async () => {
    workshop = makeWorkshop();
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
    await workshop.clear();
  });

  async function open(settings: TestSettings = {}, overrides?: GatewayOverrides): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings }, overrides);
    caller = callerOf(gateway.url);
  }

  /** Makes a request whose backend answers so, reads its reply, and returns its id. */
  async function make(request: object = {}, reply: Reply = answer(), key?: string): Promise<string> {
    backend.reply(reply);
    const headers = key === undefined ? {} : { 'idempotency-key': key };
    const made = await caller.create({ model: 'm', input: 'Hello', ...request }, { headers });
    await made.text();
    const requestId = made.headers.get('x-request-id') ?? '';
    await caller.final(requestId);
    return requestId;
  }

  async function list(query = '', of: Caller = caller): Promise<Page> {
    const reply = await of.get(`/api/v1/requests${query}`);
    expect(reply.status).to.equal(200);
    const page = (await reply.json()) as Page;
    page.data.forEach(expectRecord);
    expect(page.object).to.equal('list');
    expect(page.first_id).to.equal(page.data.at(0)?.request_id ?? null);
    expect(page.last_id).to.equal(page.data.at(-1)?.request_id ?? null);
    return page;
  }

  const idsOf = (page: Page): string[] => page.data.map(({ request_id }) => request_id);

  describe('show what became of a request', () => {
    it('while it runs, and afterwards', async () => {
      await open();
      const done = Promise.withResolvers<void>();
      backend.reply(async (stage) => {
        await done.promise;
        await answer()(stage);
      });
      const before = Math.floor(Date.now() / 1000);
      const asking = caller.create({ model: 'm', input: 'Hello', stream: true });
      await backend.request(1);
      await untilRead(async () => (await list()).data.length > 0);
      const [running] = (await list()).data;
      expect(running).to.deep.include({
        status: 'processing',
        endpoint: 'responses',
        model: 'm',
        stream: true,
        completed_at: null,
        duration_ms: null,
        cancel_requested_at: null,
        usage: null,
        usage_estimated: false,
        cost: null,
        cache: null,
        incomplete_details: null,
        error: null,
      });
      expect(running?.created_at).to.be.within(before, Date.now() / 1000);
      done.resolve();
      const reply = await asking;
      await reply.text();
      const requestId = reply.headers.get('x-request-id') ?? '';
      const { completed_at, duration_ms, ...over } = await caller.final(requestId);
      const { completed_at: _, duration_ms: __, ...begun } = running ?? {};
      const cache = { cached_tokens: 0, share: 0, saved: null, turn: 'first', broken_at: null, broken_by: null };
      expect(over).to.deep.equal({ ...begun, request_id: requestId, status: 'succeeded', usage: KNOWN_USAGE, cache });
      expect(completed_at).to.be.within(over.created_at, Date.now() / 1000);
      const seconds = (completed_at ?? 0) - over.created_at;
      expect((duration_ms ?? -1) / 1000).to.be.within(Math.max(0, seconds - 1), seconds + 1);
    });

    it('under the id of the response, and under both base paths', async () => {
      await open();
      const requestId = await make();
      const record = await caller.record(requestId);
      expect(await caller.record(record.response_id)).to.deep.equal(record);
      expect(await readRecord(await caller.get(`/v1/requests/${requestId}`))).to.deep.equal(record);
      expect(await readRecord(await caller.get(new URL(record.status_url).pathname))).to.deep.equal(record);
    });

    it('under the idempotency key, of several bodies the newest', async () => {
      await open();
      const first = await make({ input: 'first' }, answer(), 'key-1');
      const second = await make({ input: 'second' }, answer(), 'key-1');
      const other = await make({ input: 'third' }, answer(), 'key-2');
      const find = async (key: string) => readRecord(await caller.get('/api/v1/requests', { 'idempotency-key': key }));
      expect((await find('key-1')).request_id)
        .to.equal(second)
        .and.not.to.equal(first);
      expect((await find('"key-2"')).request_id).to.equal(other);
    });

    it('but not under a key that was never used, or that a refusal has freed', async () => {
      await open();
      await make({}, { json: {}, status: 429 }, 'key-1');
      for (const key of ['key-1', 'key-2']) {
        const reply = await caller.get('/api/v1/requests', { 'idempotency-key': key });
        expect(reply.status).to.equal(404);
        expect((await readError(reply)).code).to.equal('request_not_found');
      }
    });
  });

  describe('in a list', () => {
    it('are none at first', async () => {
      await open();
      expect(await list()).to.deep.include({ data: [], has_more: false });
    });

    it('come newest first, 20 at a time, each once, also while new ones are made', async () => {
      await open();
      backend.always(answer());
      const ids: string[] = [];
      for (let count = 0; count < 45; count += 1) ids.unshift(await make());
      const pages = [await list()];
      for (let page = pages[0]; page?.has_more === true; page = pages.at(-1)) {
        await make();
        pages.push(await list(`?after=${page.last_id}`));
      }
      expect(pages.map(({ data }) => data.length)).to.deep.equal([20, 20, 5]);
      expect(pages.flatMap(idsOf)).to.deep.equal(ids);
    });

    it('can be asked for by any number from 1 to 100, and go on after a response id', async () => {
      await open();
      const ids = [await make(), await make(), await make()].toReversed();
      const first = await list('?limit=1');
      expect(idsOf(first)).to.deep.equal(ids.slice(0, 1));
      expect(first.has_more).to.equal(true);
      const rest = await list(`?limit=100&after=${ids[0]?.replace('req_', 'resp_')}`);
      expect(idsOf(rest)).to.deep.equal(ids.slice(1));
      expect(rest.has_more).to.equal(false);
      expect(await list(`?limit=2&after=${ids[0]}`)).to.deep.include({ has_more: false });
    });

    it('can be picked by status and by model', async () => {
      await open();
      const good = await make({ model: 'good' });
      const bad = await make({ model: 'bad' }, { json: {}, status: 500 });
      const gone = await make({ model: 'good' }, { json: {}, status: 400 });
      backend.reply(stream([text('Hel')], 'hang'));
      const running = caller.create({ model: 'good', input: 'Hello', stream: true });
      const runningId = (await running).headers.get('x-request-id') ?? '';

      const picks: readonly (readonly [query: string, ids: readonly string[]])[] = [
        ['?status=succeeded', [good]],
        ['?status=failed', [gone, bad]],
        ['?status=cancelled', []],
        ['?status=processing', [runningId]],
        ['?model=good', [runningId, gone, good]],
        ['?model=bad', [bad]],
        ['?model=good&status=failed', [gone]],
        ['?error_code=upstream_error', [bad]],
        ['?model=bad&error_code=internal_error', []],
        [`?from=${Math.floor(Date.now() / 1000) - 3600}&model=good`, [runningId, gone, good]],
        ['?until=2020-01-01', []],
        ['?model=none', []],
      ];
      for (const [query, ids] of picks) expect(idsOf(await list(query)), query).to.deep.equal(ids);
      await caller.cancel(runningId);
      await (await running).text();
    });

    const mistakes: readonly { query: string; param: string }[] = [
      { query: 'limit=0', param: 'limit' },
      { query: 'limit=101', param: 'limit' },
      { query: 'limit=-1', param: 'limit' },
      { query: 'limit=1.5', param: 'limit' },
      { query: 'limit=ten', param: 'limit' },
      { query: 'limit=', param: 'limit' },
      { query: 'limit=1&limit=2', param: 'limit' },
      { query: 'after=', param: 'after' },
      { query: 'after=req_1', param: 'after' },
      { query: 'after=req_0123456789ABCDEF0123456789ABCDEF', param: 'after' },
      { query: 'after=a&after=b', param: 'after' },
      { query: 'status=done', param: 'status' },
      { query: 'status=', param: 'status' },
      { query: 'status=failed&status=cancelled', param: 'status' },
      { query: 'model=a&model=b', param: 'model' },
      { query: 'error_code=none', param: 'error_code' },
      { query: 'error_code=', param: 'error_code' },
      { query: 'from=yesterday', param: 'from' },
      { query: 'until=2026-02-30', param: 'until' },
    ];
    for (const { query, param } of mistakes) {
      it(`are refused for ${query}`, async () => {
        await open();
        const reply = await caller.get(`/api/v1/requests?${query}`);
        expect(reply.status).to.equal(400);
        expect(await readError(reply)).to.deep.include({ code: 'invalid_request', param });
      });
    }
  });

  describe('are found at a status_url', () => {
    const FORWARDED = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'api.example.com' };
    const places: readonly { where: string; settings: TestSettings; base: (own: string) => string }[] = [
      { where: 'where the caller came in', settings: {}, base: (own) => own },
      {
        where: 'at PUBLIC_BASE_URL, with its path and without a second slash',
        settings: { PUBLIC_BASE_URL: 'https://gateway.example.com/ai/' },
        base: () => 'https://gateway.example.com/ai',
      },
      {
        where: 'where a trusted proxy was asked',
        settings: { TRUST_PROXY: '1' },
        base: () => 'https://api.example.com',
      },
      {
        where: 'where a proxy of a trusted network was asked',
        settings: { TRUST_PROXY: 'loopback' },
        base: () => 'https://api.example.com',
      },
      { where: 'not where a stranger says', settings: { TRUST_PROXY: '10.0.0.0/8' }, base: (own) => own },
    ];
    for (const { where, settings, base } of places) {
      it(where, async () => {
        await open(settings);
        backend.always(answer());
        const headers = { ...FORWARDED, 'idempotency-key': 'key-1' };
        const made = await caller.create({ model: 'm', input: 'Hello' }, { headers });
        await made.text();
        const requestId = made.headers.get('x-request-id') ?? '';
        const expected = `${base(gateway.url)}/api/v1/requests/${requestId}`;

        const shown = await readRecord(await caller.get(`/api/v1/requests/${requestId}`, FORWARDED));
        expect(shown.status_url).to.equal(expected);
        const listed = (await (await caller.get('/api/v1/requests', FORWARDED)).json()) as Page;
        expect(listed.data.map(({ status_url }) => status_url)).to.deep.equal([expected]);
        const repeated = await caller.create({ model: 'm', input: 'Hello' }, { headers });
        expect(repeated.headers.get('location')).to.equal(expected);
        expect(((await repeated.json()) as RequestRecord).status_url).to.equal(expected);
      });
    }

    it('of the socket, for a client of HTTP/1.0 that names no host', async () => {
      await open();
      const requestId = await make();
      const { port } = new URL(gateway.url);
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(`GET /api/v1/requests/${requestId} HTTP/1.0\r\nauthorization: Bearer ${TEST_KEY}\r\n\r\n`);
      let reply = '';
      socket.on('data', (bytes: Buffer) => (reply += bytes.toString()));
      await once(socket, 'close');
      const record = JSON.parse(reply.slice(reply.indexOf('\r\n\r\n'))) as RequestRecord;
      expect(record.status_url).to.equal(`${gateway.url}/api/v1/requests/${requestId}`);
    });
  });

  describe('of somebody else', () => {
    it('are as unknown as those that never were, on every route', async () => {
      await open();
      const doneId = await make({}, answer(), 'key-1');
      backend.reply(stream([text('Hel')], 'hang'));
      const running = await caller.create({ model: 'm', input: 'Bye', stream: true });
      const runningId = running.headers.get('x-request-id') ?? '';
      const before = [await caller.record(doneId), await caller.record(runningId)];

      const stranger = callerOf(gateway.url, 'the-key-of-a-stranger');
      const never = 'req_0123456789abcdef0123456789abcdef';
      for (const id of [doneId, runningId, never].flatMap((id) => [id, id.replace('req_', 'resp_')])) {
        const replies = [
          await stranger.get(`/api/v1/requests/${id}`),
          await stranger.get(`/v1/requests/${id}`),
          await stranger.cancel(id),
          await fetch(`${gateway.url}/v1/requests/${id}/cancel`, {
            method: 'POST',
            headers: { authorization: 'Bearer the-key-of-a-stranger' },
          }),
        ];
        for (const reply of replies) {
          expect(reply.status, reply.url).to.equal(404);
          const { code, message } = await readError(reply);
          expect({ code, message }).to.deep.equal({
            code: 'request_not_found',
            message: 'The request was not found.',
          });
        }
      }
      expect(idsOf(await list('', stranger))).to.deep.equal([]);
      const byKey = await stranger.get('/api/v1/requests', { 'idempotency-key': 'key-1' });
      expect(byKey.status).to.equal(404);
      await byKey.text();

      expect([await caller.record(doneId), await caller.record(runningId)]).to.deep.equal(before);
      expect((await caller.cancel(runningId)).status).to.equal(202);
      await running.text();
    });
  });

  describe('are kept from strangers who try keys', () => {
    it('by a limit for each address, before the store has any work', async () => {
      const store = await workshop.open({ file: undefined });
      let calls = 0;
      const counting = new Proxy(store, {
        get(target, name, receiver) {
          calls += 1;
          return Reflect.get(target, name, receiver) as unknown;
        },
      });
      let nowMs = Date.now();
      await open({ AUTH_MODE: 'static', API_KEYS: LONG_KEY }, { store: counting, nowMs: () => nowMs });
      const before = calls;
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 100; attempt += 1) {
        const reply = await callerOf(gateway.url, `guess-${attempt}`).get('/api/v1/requests');
        statuses.push(reply.status);
        if (reply.status === 429) {
          expect(Number(reply.headers.get('retry-after'))).to.be.within(1, 60);
          expect((await readError(reply)).code).to.equal('rate_limit_exceeded');
        } else {
          expect((await readError(reply)).code).to.equal('invalid_api_key');
        }
      }
      expect(new Set(statuses)).to.deep.equal(new Set([401, 429]));
      expect(statuses.indexOf(429), 'no 401 after the first 429').to.equal(statuses.lastIndexOf(401) + 1);
      expect(calls - before).to.equal(0);
      const good = await callerOf(gateway.url, LONG_KEY).get('/api/v1/requests');
      expect(good.status, 'a good key is not held up').to.equal(200);
      nowMs += 61_000;
      expect((await callerOf(gateway.url, 'guess').get('/api/v1/requests')).status).to.equal(401);
    });

    it('by the same limit where only the backend knows which keys are good', async () => {
      const store = await workshop.open({ file: undefined });
      let accepted = 0;
      let discarded = 0;
      await open(
        {},
        {
          acceptedCallers: NO_CALLERS,
          store: {
            ...store,
            accept(draft) {
              accepted += 1;
              return store.accept(draft);
            },
            discard(requestId) {
              discarded += 1;
              return store.discard(requestId);
            },
          },
        },
      );
      backend.always({ json: { error: { message: 'no such key' } }, status: 401 });
      const statuses = new Set<number>();
      for (let attempt = 0; attempt < 100; attempt += 1) {
        // A record with an idempotency key begins at once, and that of a short reply without one with its end.
        const reply = await callerOf(gateway.url, `guess-${attempt}`).create(
          { model: 'm', input: 'Hello', stream: true },
          { headers: { 'idempotency-key': 'key-1' } },
        );
        statuses.add(reply.status);
        await reply.text();
      }
      expect(statuses).to.deep.equal(new Set([401, 429]));
      expect(accepted).to.be.within(1, 60);
      expect(discarded, 'no stranger leaves a record').to.equal(accepted);
    });
  });
});
