import { createServer, connect, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import OpenAI, { ConflictError } from 'openai';
import type { TestSettings } from '../support/settings.ts';
import type { GatewayOverrides } from '../../src/gateway.ts';
import type { RequestRecord } from '../../src/contract/types.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { runs } from '../support/property.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { allArrived } from '../support/time.ts';
import { callerOf, expectRecord, readError, readRecord, type Caller, type ErrorBody } from './caller.ts';
import { answer, stream, text } from './chunks.ts';
import { callerBy, KINDS, type Kind } from './web-socket-caller.ts';

const KEY = { 'idempotency-key': 'key-1' };

const SECRET = 'the-secret-of-before';
const CROWD = runs(100).numRuns;

/** A thread prepares what is large. A stream is asked for as JSON is, and a compaction offers no tools. */
const LARGE = { json: [true], stream: [false], 'web socket': [false, true], compaction: [] } as const;

describe('a repeated request', () => {
  useRealSockets();

  let workshop: Workshop;
  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let caller: Caller;

  beforeEach(async () => {
    workshop = makeWorkshop();
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
    await workshop.clear();
  });

  async function open(settings: TestSettings = {}, kind: Kind = 'json', overrides?: GatewayOverrides): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings }, overrides);
    caller = callerBy(kind, gateway.url);
  }

  /** As `open`, with its records in a file. */
  async function openFile(settings: TestSettings = {}, kind?: Kind): Promise<void> {
    await open({ GATEWAY_SECRET: SECRET, ...settings }, kind, { store: await workshop.open() });
  }

  async function reopen(...options: Parameters<typeof openFile>): Promise<void> {
    await gateway.close();
    await openFile(...options);
  }

  /** Asks so many times with the same key. The backend answers when all but one have been told of the one. */
  async function askAtOnce(times: number, request: object): Promise<readonly Response[]> {
    const allTold = Promise.withResolvers<void>();
    backend.always(async (stage) => {
      await allTold.promise;
      await answer()(stage);
    });
    let told = 0;
    const ask = async (): Promise<Response> => {
      const reply = await caller.create(request, { headers: KEY });
      if (reply.status !== 200) told += 1;
      if (told === times - 1) allTold.resolve();
      return reply;
    };
    return Promise.all(Array.from({ length: times }, ask));
  }

  /** Checks that a reply is the duplicate of this request, in every header and field, and returns its status. */
  async function expectDuplicate(reply: Response, requestId: string): Promise<RequestRecord['status']> {
    const statusUrl = `${gateway.url}/api/v1/requests/${requestId}`;
    expect(reply.status).to.equal(409);
    expect(Object.fromEntries(reply.headers)).to.deep.include({
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': requestId,
      location: statusUrl,
      'x-should-retry': 'false',
      'idempotency-replayed': 'true',
    });
    const { error, ...fields } = (await reply.json()) as RequestRecord & ErrorBody;
    expect(error).to.deep.include({ code: 'duplicate_request', type: 'invalid_request_error', param: '' });
    expect(error.message).to.include(requestId).and.to.include(statusUrl);
    const failed = fields.status === 'failed' || fields.status === 'cancelled';
    expectRecord({ ...fields, error: failed ? error : null });
    expect(fields).to.deep.include({ request_id: requestId, status_url: statusUrl });
    return fields.status;
  }

  for (const kind of KINDS) {
    const request = { model: 'm', input: 'Hello', stream: kind === 'stream' };

    it(`is told ${CROWD - 1} times of ${CROWD} which request is the original, which alone reaches the backend (${kind})`, async () => {
      await open({}, kind);
      const replies = await askAtOnce(CROWD, request);
      const accepted = replies.filter(({ status }) => status === 200);
      expect(accepted.length).to.equal(1);
      const requestId = accepted[0]?.headers.get('x-request-id') ?? '';
      await accepted[0]?.text();
      const duplicates = replies.filter(({ status }) => status !== 200);
      for (const reply of duplicates) await expectDuplicate(reply, requestId);
      expect(duplicates.length).to.equal(CROWD - 1);
      expect(backend.requests.length).to.equal(1);
    });

    for (const status of [200, 202] as const) {
      it(`is answered with ${status} and the record without an error where DUPLICATE_STATUS says so (${kind})`, async () => {
        await open({ DUPLICATE_STATUS: String(status) }, kind);
        backend.reply({ json: {}, status: 500 });
        const first = await caller.create(request, { headers: KEY });
        await first.text();
        const repeated = await caller.create(request, { headers: KEY });
        expect(repeated.status).to.equal(status);
        expect(repeated.headers.get('idempotency-replayed')).to.equal('true');
        expect(repeated.headers.get('x-should-retry')).to.equal('false');
        const fields = (await repeated.json()) as object;
        expect(fields).to.deep.include({
          object: 'request',
          request_id: first.headers.get('x-request-id'),
          status: 'failed',
        });
        expect(fields).not.to.have.property('error');
      });
    }

    describe(`(${kind})`, () => {
      /** Asks once, and returns the id when the request is over, in whatever way. */
      async function askOnce(script: Reply): Promise<string> {
        backend.reply(script);
        const reply = await caller.create(request, { headers: KEY });
        await reply.text();
        const requestId = reply.headers.get('x-request-id') ?? '';
        await caller.final(requestId);
        return requestId;
      }

      /** Asks, and returns the id while the backend has not answered yet. */
      async function begin(script: Reply): Promise<{ requestId: string; over: Promise<Response> }> {
        backend.reply(script);
        const over = caller.create(request, { headers: KEY });
        over.catch(() => undefined);
        await backend.request(1);
        const found = await caller.get('/api/v1/requests', KEY);
        return { requestId: (await readRecord(found)).request_id, over };
      }

      async function repeat(requestId: string): Promise<string> {
        const asked = backend.requests.length;
        const reply = await caller.create(request, { headers: KEY });
        const status = await expectDuplicate(reply, requestId);
        expect(backend.requests.length).to.equal(asked);
        return status;
      }

      it('after its end', async () => {
        await open({}, kind);
        expect(await repeat(await askOnce(answer()))).to.equal('succeeded');
      });

      it('after a failure', async () => {
        await open({}, kind);
        expect(await repeat(await askOnce({ json: {}, status: 500 }))).to.equal('failed');
      });

      it('after a failure in the middle', async () => {
        await open({}, kind);
        expect(await repeat(await askOnce(stream([text('Hel')], 'cut')))).to.equal('failed');
      });

      it('while it runs, and after a cancel', async () => {
        await open({}, kind);
        const { requestId, over } = await begin(stream([text('Hel')], 'hang'));
        expect(await repeat(requestId)).to.equal('processing');
        expect((await caller.cancel(requestId)).status).to.equal(202);
        await (await over).text();
        await caller.final(requestId);
        expect(await repeat(requestId)).to.equal('cancelled');
      });

      it('after its client was lost', async () => {
        await open({}, kind);
        const client = new AbortController();
        backend.reply(({ hang }) => hang());
        const lost = caller.create(request, { headers: KEY, signal: client.signal }).catch(() => undefined);
        const asked = await backend.request(1);
        client.abort();
        await lost;
        await asked.closed;
        const { request_id } = await readRecord(await caller.get('/api/v1/requests', KEY));
        await caller.final(request_id);
        expect(await repeat(request_id)).to.equal('cancelled');
      });

      it('after a restart of the gateway', async () => {
        // The secret is in a file beside the records.
        const settings = { DATABASE_URL: `file:${workshop.file}` };
        await open(settings, kind);
        const requestId = await askOnce(answer());
        await gateway.close();
        await open(settings, kind);
        expect(await repeat(requestId)).to.equal('succeeded');
      });

      for (const large of LARGE[kind]) {
        it(`after a restart with settings that refuse it (large: ${large})`, async () => {
          await openFile({ HOSTED_TOOLS: 'drop' }, kind);
          const input = 'x'.repeat(large ? 2 * 1024 * 1024 + 1 : 1);
          const withTool = { ...request, input, tools: [{ type: 'web_search' }] };
          backend.reply(answer());
          const first = await caller.create(withTool, { headers: KEY });
          await first.text();
          await reopen({ HOSTED_TOOLS: 'reject' }, kind);
          const requestId = first.headers.get('x-request-id') ?? '';
          expect(await expectDuplicate(await caller.create(withTool, { headers: KEY }), requestId)).to.equal(
            'succeeded',
          );
          expect((await caller.create(withTool, { headers: { 'idempotency-key': 'key-2' } })).status).to.equal(400);
        });
      }

      // Whoever opens a WebSocket now is refused before he can ask; for one that is open see test/gateway/web-socket.test.ts.
      if (kind !== 'web socket') {
        it('while the gateway drains, although nothing new is accepted', async () => {
          await open({}, kind);
          const done = Promise.withResolvers<void>();
          const { requestId, over } = await begin(async (stage) => {
            await done.promise;
            await answer()(stage);
          });
          const drained = gateway.drain();
          expect(await repeat(requestId)).to.equal('processing');
          const other = await caller.create(request, { headers: { 'idempotency-key': 'key-2' } });
          expect(other.status).to.equal(503);
          expect((await readError(other)).code).to.equal('gateway_draining');
          done.resolve();
          expect((await over).status).to.equal(200);
          await (await over).text();
          await drained;
        });
      }

      it('without a key is a request of its own', async () => {
        await open({}, kind);
        backend.always(answer());
        const replies = await Promise.all(Array.from({ length: 5 }, () => caller.create(request)));
        for (const reply of replies) await reply.text();
        expect(replies.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200, 200]);
        expect(new Set(replies.map((reply) => reply.headers.get('x-request-id'))).size).to.equal(5);
        expect(backend.requests.length).to.equal(5);
      });

      it(`of ${CROWD} simultaneous ones exactly one uses a key that a refusal has freed`, async () => {
        await open({}, kind);
        backend.reply({ json: { error: { message: 'slow down' } }, status: 429, headers: { 'retry-after': '0' } });
        const refused = await caller.create(request, { headers: KEY });
        expect(refused.status).to.equal(429);
        const freedId = refused.headers.get('x-request-id') ?? '';
        await refused.text();

        const replies = await askAtOnce(CROWD, request);
        const accepted = replies.filter(({ status }) => status === 200);
        expect(accepted.length).to.equal(1);
        await accepted[0]?.text();
        const requestId = accepted[0]?.headers.get('x-request-id') ?? '';
        expect(requestId).not.to.equal(freedId);
        for (const reply of replies) if (reply.status !== 200) await expectDuplicate(reply, requestId);
        expect(backend.requests.length).to.equal(2);
        expect((await caller.record(freedId)).status).to.equal('failed');
      });
    });
  }

  describe('is another request', () => {
    const others: readonly {
      what: string;
      apiKey?: string;
      body?: string;
      headers?: Readonly<Record<string, string>>;
      endpoint?: 'compact';
    }[] = [
      { what: 'with another API key', apiKey: 'another-key' },
      { what: 'with another body', body: '{"model":"m","input":"Bye"}' },
      { what: 'with other white space in its body', body: '{"model":"m", "input":"Hello"}' },
      { what: 'with another idempotency key', headers: { 'idempotency-key': 'key-2' } },
      { what: 'for a compaction', endpoint: 'compact' },
      { what: 'with an idempotency key in another case', headers: { 'idempotency-key': 'KEY-1' } },
    ];
    for (const { what, apiKey, body, headers, endpoint = 'create' } of others) {
      it(what, async () => {
        await open();
        backend.always(answer());
        const original = '{"model":"m","input":"Hello"}';
        await (await caller.create(original, { headers: KEY })).text();
        const other = callerOf(gateway.url, apiKey);
        const reply = await other[endpoint](body ?? original, { headers: headers ?? KEY });
        expect(reply.status).to.equal(200);
        await reply.text();
        expect(backend.requests.length).to.equal(2);
      });
    }
  });

  describe('is the same request', () => {
    const BODY = '{"model":"m","input":"Hello"}';
    const same: readonly { what: string; send: () => Promise<Response> }[] = [
      {
        what: 'with its key in quotes',
        send: () => caller.create(BODY, { headers: { 'idempotency-key': '"key-1"' } }),
      },
      {
        what: 'under the other base path',
        send: () =>
          fetch(`${gateway.url}/v1/responses`, {
            method: 'POST',
            headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json', ...KEY },
            body: BODY,
          }),
      },
      {
        what: 'compressed',
        send: () =>
          fetch(`${gateway.url}/api/v1/responses`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${TEST_KEY}`,
              'content-type': 'application/json',
              'content-encoding': 'gzip',
              ...KEY,
            },
            body: gzipSync(BODY),
          }),
      },
    ];
    for (const { what, send } of same) {
      it(what, async () => {
        await open();
        backend.always(answer());
        const reply = await caller.create(BODY, { headers: KEY });
        await reply.text();
        await expectDuplicate(await send(), reply.headers.get('x-request-id') ?? '');
        expect(backend.requests.length).to.equal(1);
      });
    }
  });

  describe('with a key that is none', () => {
    const keys: readonly { what: string; key: string }[] = [
      { what: 'empty', key: '' },
      { what: 'empty between quotes', key: '""' },
      { what: 'of 256 characters', key: 'k'.repeat(256) },
      { what: 'of letters beyond ASCII', key: 'clé' },
      { what: 'with a tab in it', key: 'a\tb' },
    ];
    for (const { what, key } of keys) {
      it(`(${what}) is refused before anything else happens`, async () => {
        await open();
        const reply = await caller.create({ model: 'm', input: 'Hello' }, { headers: { 'idempotency-key': key } });
        expect(reply.status).to.equal(400);
        expect(await readError(reply)).to.deep.include({ code: 'invalid_idempotency_key', param: 'Idempotency-Key' });
        const list = await caller.get('/api/v1/requests', { 'idempotency-key': key });
        expect((await readError(list)).code).to.equal('invalid_idempotency_key');
        expect(backend.requests.length).to.equal(0);
      });
    }

    it('of 255 characters is still one', async () => {
      await open();
      backend.always(answer());
      const headers = { 'idempotency-key': 'k'.repeat(255) };
      const reply = await caller.create({ model: 'm', input: 'Hello' }, { headers });
      await reply.text();
      const repeated = await caller.create({ model: 'm', input: 'Hello' }, { headers });
      await expectDuplicate(repeated, reply.headers.get('x-request-id') ?? '');
    });
  });

  it('is found under the previous secret, and so is everything else of the caller', async () => {
    const rotated = { GATEWAY_SECRET: 'the-secret-of-today', GATEWAY_SECRET_PREVIOUS: SECRET };
    const request = { model: 'm', input: 'Hello' };
    await openFile();
    backend.always(answer());
    const first = await caller.create(request, { headers: KEY });
    await first.text();
    const firstId = first.headers.get('x-request-id') ?? '';

    await reopen(rotated);
    await expectDuplicate(await caller.create(request, { headers: KEY }), firstId);
    const second = await caller.create(request, { headers: { 'idempotency-key': 'key-2' } });
    await second.text();
    const secondId = second.headers.get('x-request-id') ?? '';
    await expectDuplicate(await caller.create(request, { headers: { 'idempotency-key': 'key-2' } }), secondId);

    expect((await caller.record(firstId)).status).to.equal('succeeded');
    expect((await caller.cancel(firstId)).status).to.equal(200);
    expect((await readRecord(await caller.get('/api/v1/requests', KEY))).request_id).to.equal(firstId);
    const list = (await (await caller.get('/api/v1/requests')).json()) as { data: readonly RequestRecord[] };
    expect(list.data.map(({ request_id }) => request_id)).to.deep.equal([secondId, firstId]);

    await reopen({ GATEWAY_SECRET: rotated.GATEWAY_SECRET });
    expect((await caller.get(`/api/v1/requests/${firstId}`)).status).to.equal(404);
    expect((await caller.record(secondId)).status).to.equal('succeeded');
  });

  describe('by the official SDK, whose first connection was lost', () => {
    let proxy: LossyProxy;

    beforeEach(async () => {
      await open();
      proxy = await startLossyProxy(Number(new URL(gateway.url).port));
    });
    afterEach(() => proxy.close());

    for (const kind of ['json', 'stream'] as const) {
      it(`throws an error that leads to the original, and never an empty success (${kind})`, async () => {
        backend.always(answer());
        const client = new OpenAI({ apiKey: TEST_KEY, baseURL: `${proxy.url}/v1`, maxRetries: 2 });
        const request = { model: 'm', input: 'Hello' };
        const thrown =
          kind === 'json'
            ? await client.responses.create(request, { headers: KEY }).catch((error: unknown) => error)
            : await client.responses
                .create({ ...request, stream: true }, { headers: KEY })
                .catch((error: unknown) => error);

        expect(proxy.connections).to.equal(2);
        expect(thrown).to.be.instanceOf(ConflictError);
        if (!(thrown instanceof ConflictError)) return;
        const { request_id, status_url, status } = await readRecord(await caller.get('/api/v1/requests', KEY));
        expect(thrown.code).to.equal('duplicate_request');
        expect(thrown.requestID).to.equal(request_id);
        expect(thrown.headers.get('location')).to.equal(status_url.replace(gateway.url, proxy.url));
        expect(thrown.message).to.include(request_id);
        expect(status).to.equal('succeeded');
        expect(backend.requests.length).to.equal(1);
      });
    }
  });
});

interface LossyProxy {
  readonly url: string;
  readonly connections: number;
  close(): Promise<void>;
}

/** Passes bytes on, but of its first connection it swallows the whole answer, and then breaks it. */
async function startLossyProxy(port: number): Promise<LossyProxy> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const server: Server = createServer((client) => {
    connections += 1;
    const gateway = connect(port, '127.0.0.1');
    for (const socket of [client, gateway]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.pipe(gateway);
    if (connections > 1) {
      gateway.pipe(client);
      return;
    }
    gateway.resume();
    gateway.once('data', () => void allArrived().then(() => client.resetAndDestroy()));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const ownPort = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${ownPort}`,
    get connections() {
      return connections;
    },
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
