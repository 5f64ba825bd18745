import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { openStore } from '../../src/store/open.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { callerOf } from '../records/caller.ts';
import { startScriptedBackend, type Script, type ScriptedBackend } from '../support/backend.ts';
import { collectGarbage } from '../support/garbage.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { makeHeld } from '../support/held-store.ts';
import { passUntil, useHeldTime } from '../support/held-time.ts';
import { kernelMayTake } from '../support/kernel.ts';
import { chunkOf } from '../support/machine.ts';
import { openManagedGateway } from '../support/managed.ts';
import { sendRaw, writesOf } from '../support/raw-request.ts';
import { makeWorkshop } from '../support/sqlite.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { AT_ONCE_MS, allArrived, untilRead, untilSteady } from '../support/time.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';
import type { TestSettings } from '../support/settings.ts';

const STREAM = { model: 'test-model', input: 'Hello', stream: true };
const JSON_REQUEST = { ...STREAM, stream: false };

const MIB = 1024 * 1024;

/** A reply says each of its characters twice, with six bytes, and a stream six times: more than the kernel takes. */
const LONG_IN_JSON = '\u0001'.repeat(3.5 * MIB);

const afterFirstToken: Script = async ({ sse, hang }) => {
  await sse(chunkOf({ content: 'Once upon' }));
  await hang();
};

describe('a client that goes away', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let sockets: Socket[];
  let slowestMs = 0;

  beforeEach(async () => {
    sockets = [];
    backend = await startScriptedBackend();
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await gateway.close();
    await backend.close();
  });

  after(() => console.log(`\n  The backend learnt of an abort within ${slowestMs.toFixed(1)} ms`));

  const windows: { name: string; request: object; script: Script; settings?: TestSettings }[] = [
    {
      name: 'before the first token, but after its own headers',
      request: STREAM,
      script: ({ hang }) => hang(),
      settings: { headerHoldMs: 0 },
    },
    { name: 'in the middle of its stream', request: STREAM, script: afterFirstToken },
    { name: 'while a stream is gathered into JSON for it', request: JSON_REQUEST, script: afterFirstToken },
  ];

  for (const { name, request, script, settings } of windows) {
    it(`${name} is noticed by the backend at once`, async () => {
      if (settings !== undefined) {
        await gateway.close();
        gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings });
      }
      backend.reply(script);
      const socket = send(request);
      const asked = await backend.request(1);
      await allArrived();
      const goneAtMs = performance.now();
      socket.destroy();
      const { aborted, atMs } = await asked.closed;
      expect(aborted).to.equal(true);
      expect(atMs - goneAtMs).to.be.within(0, AT_ONCE_MS);
      slowestMs = Math.max(slowestMs, atMs - goneAtMs);
      expect(await lastRecord()).to.deep.include({
        status: 'cancelled',
        error: { code: 'client_disconnected', message: 'The client closed the connection.' },
      });
    });
  }

  it('during its upload leaves no trace', async () => {
    const socket = send(STREAM, { contentLength: MIB });
    await allArrived();
    socket.destroy();
    backend.reply({ sse: [chunkOf({ content: 'Hi' }, 'stop')] });
    const reply = await gateway.create(STREAM);
    expect(expectWellFormed(parseEvents(await reply.text())).status).to.equal('completed');
    expect(backend.requests).to.have.length(1);
    const { data } = (await (await gateway.get('/api/v1/requests')).json()) as { data: unknown[] };
    expect(data).to.have.length(1);
  });

  it('while its key is looked up leaves its place to others', async () => {
    const store = makeHeld(await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, clock: Date.now }));
    const asked = store.hold('findKeyByHash');
    const settings = { UPSTREAM_BASE_URL: backend.baseUrl, MAX_CONCURRENT_REQUESTS: '1' };
    const managed = await openManagedGateway(settings, { store });
    await gateway.close();
    gateway = managed;
    const { secret } = await managed.issue();
    const socket = sendRaw(gateway.url, JSON_REQUEST, { apiKey: secret });
    await asked;
    socket.destroy();
    await once(socket, 'close');
    await allArrived();
    store.letGo();
    backend.reply({ sse: [chunkOf({ content: 'Hi' }, 'stop')] });
    const reply = await callerOf(gateway.url, secret).create(JSON_REQUEST);
    expect(reply.status, await reply.text()).to.equal(200);
  });

  describe('after the finish reason, while the usage is waited for,', () => {
    const passTime = useHeldTime();

    beforeEach(async () => {
      await gateway.close();
      gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
    });

    for (const { name, request } of [
      { name: 'a stream', request: STREAM },
      { name: 'JSON', request: JSON_REQUEST },
    ]) {
      it(`leaves the backend a second to say it: ${name}`, async () => {
        backend.reply(async ({ sse, hang }) => {
          await sse(chunkOf({ content: 'Hi' }, 'stop'));
          await hang();
        });
        const socket = send(request);
        const asked = await backend.request(1);
        await allArrived();
        socket.destroy();
        await passTime(999);
        expect(backend.closed).to.deep.equal([]);
        await passTime(1);
        expect((await asked.closed).aborted).to.equal(true);
        expect(await lastRecord()).to.deep.include({ status: 'cancelled', usage_estimated: true });
      });

      it(`ends the backend as soon as that has said it: ${name}`, async () => {
        const goOn = Promise.withResolvers<void>();
        backend.reply(async ({ sse, hang }) => {
          await sse(chunkOf({ content: 'Hi' }, 'stop'));
          await goOn.promise;
          await sse({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } });
          await hang();
        });
        const socket = send(request);
        const asked = await backend.request(1);
        await allArrived();
        socket.destroy();
        await allArrived();
        goOn.resolve();
        expect((await asked.closed).aborted).to.equal(true);
        expect(await lastRecord()).to.deep.include({ status: 'cancelled', usage_estimated: false });
      });
    }
  });

  describe('or does not read', () => {
    it('makes the backend wait with more than the kernel takes, and others are served', async () => {
      // Short, because an answer has an end before it is as long as what some kernels take.
      const chunk = `data: ${JSON.stringify(chunkOf({ content: 'x' }))}\n\n`;
      const chunks = Math.ceil((2 * kernelMayTake() + 16 * MIB) / chunk.length);
      const piece = chunk.repeat(256);
      backend.reply(async ({ start, write, end }) => {
        start();
        for (let count = 0; count < chunks; count += 256) if (!(await write(piece))) return;
        end();
      });
      const before = memory();
      const socket = send(STREAM);
      socket.pause();
      const sent = await untilSteady(() => backend.bytesSent);
      expect(sent).to.be.within(1, chunks * chunk.length);
      expect(memory() - before, 'what is held in this process').to.be.lessThan(64 * MIB);

      backend.reply({ sse: [chunkOf({ content: 'Hi' }, 'stop')] });
      const startedAtMs = performance.now();
      const reply = await gateway.create(STREAM);
      expect(expectWellFormed(parseEvents(await reply.text())).output_text).to.equal('Hi');
      expect(performance.now() - startedAtMs).to.be.lessThan(AT_ONCE_MS);
    });

    describe('more than its caller may hold', () => {
      beforeEach(async () => {
        await gateway.close();
        const limits = { MAX_BODY_BYTES: String(MIB / 4), MAX_BODY_BYTES_IN_FLIGHT: String(MIB / 4) };
        gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...limits });
      });

      it('is cut off in the middle of a stream', async () => {
        const piece = chunkOf({ content: 'x'.repeat(64 * 1024) });
        backend.reply(async ({ sse }) => {
          while (await sse(piece));
        });
        send(STREAM).pause();
        expect((await (await backend.request(1)).closed).aborted).to.equal(true);
        expect(await lastRecord()).to.deep.include({ status: 'cancelled' });
      });

      it('has its status before, even if the first words that arrive are beyond that', async () => {
        await gateway.close();
        const limits = { MAX_BODY_BYTES: '1000', MAX_BODY_BYTES_IN_FLIGHT: '1000' };
        gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...limits });
        const words = chunkOf({ content: 'x'.repeat(100) });
        const piece = Array.from({ length: 500 }, () => words);
        backend.reply(async ({ sse }) => {
          while (await sse(...piece));
        });
        const socket = send(STREAM);
        socket.pause();
        await lastRecord();
        const received = await read(socket);
        expect(received.toString('latin1')).to.match(/^HTTP\/1\.1 200 OK\r\n/);
        expect(await lastRecord()).to.deep.include({ status: 'cancelled' });
      });

      it('is cut off from its JSON', async () => {
        const content = LONG_IN_JSON;
        backend.reply({ sse: [chunkOf({ content }), chunkOf({}, 'stop')] });
        const socket = send(JSON_REQUEST);
        socket.pause();
        await (
          await backend.request(1)
        ).closed;
        await lastRecord();
        await allArrived();
        const { length } = await read(socket).catch(() => Buffer.alloc(0));
        expect(length).to.be.lessThan(2 * 6 * content.length);
      });

      function neverRead(path: string): void {
        const { port, host } = new URL(gateway.url);
        const socket = connect(Number(port), '127.0.0.1').pause();
        socket.on('error', () => undefined);
        sockets.push(socket);
        socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${TEST_KEY}\r\n\r\n`);
      }

      it('is cut off from its usage', async () => {
        await gateway.close();
        const over = Promise.withResolvers<void>();
        const log = createLogger('info', { write: (line) => line.includes('/usage') && over.resolve() });
        const limits = { MAX_BODY_BYTES: String(MIB), MAX_BODY_BYTES_IN_FLIGHT: String(MIB) };
        const workshop = makeWorkshop();
        const store = await workshop.open({ file: undefined });
        const row = {
          startMs: 0,
          caller: '',
          requests: 1,
          failed: 0,
          cancelled: 0,
          inputTokens: 1,
          cachedTokens: 0,
          cacheWriteTokens: 0,
          outputTokens: 1,
          reasoningTokens: 0,
          costMicro: 0,
          savedMicro: 0,
          durationMs: 1,
        };
        const rows = Array.from({ length: 7 }, () => ({ ...row, model: 'x'.repeat(MIB) }));
        const listUsage = (): Promise<typeof rows> => Promise.resolve(rows);
        gateway = await openGateway(
          { UPSTREAM_BASE_URL: backend.baseUrl, ...limits },
          { log, store: { ...store, listUsage } },
        );
        neverRead('/api/v1/usage');
        await over.promise;
        await workshop.clear();
      });

      it('is cut off from a list of models', async () => {
        await gateway.close();
        const over = Promise.withResolvers<void>();
        const log = createLogger('info', { write: (line) => line.includes('/models') && over.resolve() });
        const limits = { MAX_BODY_BYTES: String(MIB), MAX_BODY_BYTES_IN_FLIGHT: String(MIB) };
        const settings = { UPSTREAM_BASE_URL: backend.baseUrl, MODEL_ALIASES: '{"mine": "m0"}', ...limits };
        gateway = await openGateway(settings, { log });
        const data = Array.from({ length: 7 }, (_, at) => ({ id: `m${at}`, name: 'x'.repeat(MIB) }));
        backend.reply({ json: { object: 'list', data } });
        neverRead('/api/v1/models');
        await over.promise;
      });
    });

    describe('for longer than IDLE_TIMEOUT_MS', () => {
      const IDLE_TIMEOUT_MS = 1000;
      const STEP_MS = IDLE_TIMEOUT_MS / 2;
      const passTime = useHeldTime();
      let over: PromiseWithResolvers<void>;

      beforeEach(async () => {
        await gateway.close();
        over = Promise.withResolvers();
        // Its line is written when nothing more of the reply can be sent. The record is final long before.
        const log = createLogger('info', { write: (line) => line.includes('/responses') && over.resolve() });
        const settings = { UPSTREAM_BASE_URL: backend.baseUrl, IDLE_TIMEOUT_MS: String(IDLE_TIMEOUT_MS) };
        gateway = await openGateway(settings, { log });
      });

      it('is cut off, and the backend with it', async () => {
        // Its events are much larger than the answer, which may not become too large before the kernel has enough.
        const words = `data: ${JSON.stringify(chunkOf({ content: 'x' }))}\n\n`.repeat(500);
        backend.reply(async ({ start, write }) => {
          start();
          while (await write(words));
        });
        send(STREAM).pause();
        const asked = await backend.request(1);
        await untilSteady(() => backend.bytesSent);
        expect((await passUntil(asked.closed, STEP_MS)).aborted).to.equal(true);
        expect(await lastRecord()).to.deep.include({ status: 'cancelled' });
      });

      it('is cut off also if it sends an empty line all the time', async () => {
        const words = `data: ${JSON.stringify(chunkOf({ content: 'x' }))}\n\n`.repeat(500);
        backend.reply(async ({ start, write }) => {
          start();
          while (await write(words));
        });
        const socket = send(STREAM);
        socket.pause();
        await untilSteady(() => backend.bytesSent);
        for (let lines = 0; backend.closed.length === 0; lines += 1) {
          expect(lines, 'in 20 s').to.be.lessThan(100);
          socket.write('\r\n');
          await allArrived();
          await passTime(STEP_MS / 2.5);
        }
        expect(backend.closed[0]?.aborted).to.equal(true);
      });

      for (const { name, request } of [
        { name: 'a stream', request: STREAM },
        { name: 'JSON', request: JSON_REQUEST },
      ]) {
        describe(`at the end of ${name}`, () => {
          it('is cut off', async () => {
            const content = LONG_IN_JSON;
            backend.reply({ sse: [chunkOf({ content }), chunkOf({}, 'stop')] });
            const socket = send(request);
            socket.pause();
            await (
              await backend.request(1)
            ).closed;
            await lastRecord();
            await passUntil(over.promise, STEP_MS);
            expect((await read(socket)).length).to.be.lessThan((request.stream ? 6 : 2) * 6 * content.length);
          });

          it('but for pauses that are shorter gets all of it', async () => {
            const content = 'x'.repeat(3.5 * MIB);
            backend.reply({ sse: [chunkOf({ content }), chunkOf({}, 'stop')] });
            const reply = await read(send(request), () => passTime(STEP_MS));
            const { output_text } = request.stream
              ? expectWellFormed(parseEvents(writesOf(reply).join('')))
              : JSON.parse(reply.toString('utf8', reply.indexOf('\r\n\r\n') + 4));
            expect(output_text === content).to.equal(true);
          });
        });
      }
    });
  });

  function send(request: object, options?: { contentLength: number }): Socket {
    const socket = sendRaw(gateway.url, request, options);
    sockets.push(socket);
    return socket;
  }

  /** Reads to the end, with a pause after every 4 MiB: of less, a kernel that holds 32 MiB may not tell the other side. */
  async function read(socket: Socket, pause = () => Promise.resolve()): Promise<Buffer> {
    const pieces: Buffer[] = [];
    let pauses = 0;
    for await (const bytes of socket) {
      pieces.push(bytes as Buffer);
      if (socket.bytesRead < (pauses + 1) * 4 * MIB) continue;
      pauses += 1;
      await pause();
    }
    return Buffer.concat(pieces);
  }

  /** The caller's newest record, as soon as it is final. */
  async function lastRecord(): Promise<unknown> {
    let last: { status: string } | undefined;
    await untilRead(async () => {
      const { data } = (await (await gateway.get('/api/v1/requests')).json()) as { data: { status: string }[] };
      last = data[0];
      return last !== undefined && last.status !== 'processing';
    });
    return last;
  }
});

function memory(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
