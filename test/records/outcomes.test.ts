/** "What ends how": the table of the contract, section 6, row by row, asked for as JSON, as a stream and over a WebSocket. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { messageInRecord, type ErrorCode } from '../../src/core/errors.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import type { GatewayOverrides } from '../../src/gateway.ts';
import type { TestSettings } from '../support/settings.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useHeldTime } from '../support/held-time.ts';
import { pairsOf } from '../support/property.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { allArrived, until } from '../support/time.ts';
import { callerOf, readError, readRecord, readTold, type Caller } from './caller.ts';
import { CAUSES, durationMs, type Recorded } from './causes.ts';
import { answer, KNOWN_USAGE, stream, text, usageChunk } from './chunks.ts';
import { callerBy, isJson, KINDS, type Kind } from './web-socket-caller.ts';

describe('what ends how', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let caller: Caller;

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function open(settings: TestSettings = {}, kind: Kind = 'stream', overrides?: GatewayOverrides): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings }, overrides);
    caller = callerBy(kind, gateway.url);
  }

  describe('at the backend', () => {
    const passTime = useHeldTime();

    for (const [kind, { cause, settings, backend: script, ...rows }] of pairsOf(KINDS, CAUSES)) {
      it(`${cause} (${kind})`, async () => {
        const expected =
          (kind === 'compaction' ? rows.compaction : undefined) ?? rows[isJson(kind) ? 'json' : 'stream'];
        await open(settings, kind);
        backend.reply(script);
        backend.always(answer());
        const request = { model: 'm', input: 'Hello', stream: kind === 'stream' };
        const headers = { 'idempotency-key': 'key-1' };

        const asking = caller.create(request, { headers });
        await backend.request(1);
        await passTime(durationMs(settings));
        const reply = await asking;
        const requestId = reply.headers.get('x-request-id') ?? '';
        expect(reply.headers.get('x-should-retry')).to.equal(expected.shouldRetry ?? null);
        expect(await readTold(reply)).to.deep.equal(expected.told);
        await expectRecorded(requestId, expected.record);
        await expectKey(request, headers, { requestId, key: expected.key });
      });
    }
  });

  async function expectRecorded(requestId: string, expected: Recorded | 'none'): Promise<void> {
    if (expected === 'none') {
      const reply = await caller.get(`/api/v1/requests/${requestId}`);
      expect(reply.status).to.equal(404);
      expect((await readError(reply)).code).to.equal('request_not_found');
      return;
    }
    // Final as soon as the caller has the reply, although nobody has waited for that.
    const { status, error, usage, usage_estimated, incomplete_details } = await caller.record(requestId);
    expect({ status, code: error?.code, incomplete: incomplete_details?.reason }).to.deep.equal({
      status: expected.status,
      code: expected.code,
      incomplete: expected.incomplete,
    });
    if (error !== null) expect(error.message).to.equal(messageInRecord(error.code as ErrorCode));
    expect(usage_estimated).to.equal(expected.usage === 'estimated');
    if (expected.usage === 'none') expect(usage).to.equal(null);
    else if (expected.usage === 'known') expect(usage).to.deep.equal(KNOWN_USAGE);
    // The prompt for a summary is longer than what these requests say.
    else expect(usage?.input_tokens).to.be.within(1, 1000);
  }

  /** The same request with the same key once more: a duplicate when the key is kept, else a run of its own. */
  async function expectKey(
    request: object,
    headers: Readonly<Record<string, string>>,
    { requestId, key }: { requestId: string; key: 'kept' | 'free' },
  ): Promise<void> {
    const asked = backend.requests.length;
    const repeated = await caller.create(request, { headers });
    // To its end: the headers of a stream do not wait for the backend for ever.
    await repeated.text();
    if (key === 'kept') {
      expect(repeated.status).to.equal(409);
      expect(repeated.headers.get('x-request-id')).to.equal(requestId);
      expect(backend.requests.length).to.equal(asked);
    } else {
      expect(repeated.status).to.equal(200);
      expect(repeated.headers.get('x-request-id')).not.to.equal(requestId);
      expect(backend.requests.length).to.equal(asked + 1);
    }
  }

  describe('a failure without an idempotency key', () => {
    it('may be tried again, since nothing would call it a duplicate', async () => {
      await open();
      backend.reply({ json: {}, status: 500 });
      const reply = await caller.create({ model: 'm', input: 'Hello' });
      expect(reply.status).to.equal(502);
      expect(reply.headers.get('x-should-retry')).to.equal(null);
    });
  });

  describe('a client that goes away', () => {
    const moments: readonly { when: string; script: Reply; usage: 'known' | 'estimated'; outputTokens?: number }[] = [
      { when: 'before the first token', script: ({ hang }) => hang(), usage: 'estimated', outputTokens: 0 },
      { when: 'in the middle of the text', script: stream([text('Hello, world')], 'hang'), usage: 'estimated' },
      { when: 'after the usage', script: stream([text('Hello'), usageChunk], 'hang'), usage: 'known' },
    ];
    for (const { when, script, usage, outputTokens } of moments) {
      for (const kind of KINDS) {
        it(`${when} leaves a cancelled record (${kind})`, async () => {
          await open({}, kind);
          backend.reply(script);
          const request = { model: 'm', input: 'Hello', stream: kind === 'stream' };
          const headers = { 'idempotency-key': 'key-1' };
          const client = new AbortController();
          const gone = caller.create(request, { headers, signal: client.signal }).then(
            (reply) => reply.text(),
            () => undefined,
          );
          const asked = await backend.request(1);
          await allArrived();
          client.abort();
          await gone.catch(() => undefined);
          expect((await asked.closed).aborted).to.equal(true);

          const found = await caller.get('/api/v1/requests', headers);
          const { request_id } = await caller.final((await readRecord(found)).request_id);
          await expectRecorded(request_id, { status: 'cancelled', code: 'client_disconnected', usage });
          if (outputTokens !== undefined) {
            expect((await caller.record(request_id)).usage?.output_tokens).to.equal(outputTokens);
          }
          await expectKey(request, headers, { requestId: request_id, key: 'kept' });
        });
      }
    }
  });

  describe('a client that goes away while its body is decompressed', () => {
    it('leaves neither a record nor a request to the backend', async () => {
      const lines: string[] = [];
      const log = createLogger('info', { write: (line) => void lines.push(line) });
      gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { log });
      caller = callerOf(gateway.url);
      backend.always(answer());
      const { port } = new URL(gateway.url);
      // Long in decompression, so that the client is gone before the end of it.
      const body = gzipSync(JSON.stringify({ model: 'm', input: 'Hello' }).padEnd(24 * 1024 * 1024), { level: 1 });
      const socket = connect(Number(port), '127.0.0.1');
      const head = [
        'POST /v1/responses HTTP/1.1',
        'host: localhost',
        'authorization: Bearer test-key',
        'content-type: application/json',
        'content-encoding: gzip',
        `content-length: ${body.length}`,
      ];
      socket.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]), () => socket.destroy());
      await once(socket, 'close');
      await until(() => lines.some((line) => line.includes('client_disconnected')));
      expect(backend.requests.length).to.equal(0);
      const list = (await (await caller.get('/api/v1/requests')).json()) as { data: readonly unknown[] };
      expect(list.data).to.deep.equal([]);
    });
  });

  describe('a drain whose limit is reached', () => {
    let workshop: Workshop;

    beforeEach(() => {
      workshop = makeWorkshop();
    });
    afterEach(() => workshop.clear());

    for (const kind of KINDS) {
      it(`ends the request by its failure path (${kind})`, async () => {
        const settings = { GATEWAY_SECRET: 'a secret that stays', DRAIN_TIMEOUT_MS: '30' };
        await open(settings, kind, { store: await workshop.open() });
        backend.reply(stream([text('Hello'), usageChunk], 'hang'));
        backend.always(answer());
        const request = { model: 'm', input: 'Hello', stream: kind === 'stream' };
        const headers = { 'idempotency-key': 'key-1' };
        const asking = caller.create(request, { headers });
        await backend.request(1);
        await allArrived();
        await gateway.drain();

        const reply = await asking;
        const requestId = reply.headers.get('x-request-id') ?? '';
        expect(await readTold(reply)).to.deep.equal(
          isJson(kind) ? { status: 503, code: 'gateway_interrupted' } : { ends: 'failed', code: 'gateway_interrupted' },
        );
        await open(settings, kind, { store: await workshop.open() });
        await expectRecorded(requestId, { status: 'failed', code: 'gateway_interrupted', usage: 'known' });
        await expectKey(request, headers, { requestId, key: 'kept' });
      });
    }
  });

  describe('a refusal by the gateway itself', () => {
    it('leaves neither a record nor a used key', async () => {
      await open({ AUTH_MODE: 'static', API_KEYS: 'test-key' });
      backend.always(answer());
      const headers = { 'idempotency-key': 'key-1' };
      const stranger = await callerOf(gateway.url, 'another-key').create({ model: 'm', input: 'Hello' }, { headers });
      expect(stranger.status).to.equal(401);
      expect((await readError(stranger)).code).to.equal('invalid_api_key');
      const misshapen = await caller.create({ model: 'm', input: 7 }, { headers });
      expect(misshapen.status).to.equal(400);
      expect((await readError(misshapen)).code).to.equal('invalid_request');

      for (const reply of [stranger, misshapen]) {
        expect(reply.headers.get('x-should-retry')).to.equal('false');
        await expectRecorded(reply.headers.get('x-request-id') ?? '', 'none');
      }
      const list = (await (await caller.get('/api/v1/requests')).json()) as { data: readonly unknown[] };
      expect(list.data).to.deep.equal([]);
      expect((await caller.get('/api/v1/requests', headers)).status).to.equal(404);
      expect(backend.requests.length).to.equal(0);
    });

    it('while draining is told with a time to come back, elsewhere or later', async () => {
      await open();
      backend.reply(({ hang }) => hang());
      const running = caller.create({ model: 'm', input: 'first' }).catch(() => undefined);
      await backend.request(1);
      const drained = gateway.drain();
      const reply = await caller.create({ model: 'm', input: 'Hello' }, { headers: { 'idempotency-key': 'key-1' } });
      expect(await readTold(reply)).to.deep.equal({ status: 503, code: 'gateway_draining' });
      expect(reply.headers.get('retry-after')).to.equal('1');
      expect(reply.headers.get('x-should-retry')).to.equal(null);
      expect(backend.requests.length).to.equal(1);
      await Promise.all([gateway.close(), running, drained]);
    });
  });

  describe('a backend that cannot be reached', () => {
    for (const kind of KINDS) {
      it(`frees the key, since nothing ran (${kind})`, async () => {
        const nobody = await startScriptedBackend();
        await nobody.close();
        await open({ UPSTREAM_BASE_URL: nobody.baseUrl }, kind);
        const request = { model: 'm', input: 'Hello', stream: kind === 'stream' };
        const headers = { 'idempotency-key': 'key-1' };
        const ids = new Set<string>();
        for (let attempt = 1; attempt <= 2; attempt += 1) {
          const reply = await caller.create(request, { headers });
          ids.add(reply.headers.get('x-request-id') ?? '');
          expect(reply.headers.get('x-should-retry')).to.equal(null);
          expect(await readTold(reply)).to.deep.equal({ status: 502, code: 'upstream_unreachable' });
        }
        expect(ids.size).to.equal(2);
        for (const id of ids) {
          await expectRecorded(id, { status: 'failed', code: 'upstream_unreachable', usage: 'none' });
        }
      });
    }
  });
});
