/** When a connection to a backend is used again that may close it, on both ways to a backend. */

import { setImmediate } from 'node:timers/promises';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { jsonOf, startClosingBackend, streamOf, type ClosingBackend } from '../support/closing-backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useHeldTime } from '../support/held-time.ts';
import { chunkOf } from '../support/machine.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { allArrived } from '../support/time.ts';

const PROOF_MS = 250;
const STREAM = streamOf(chunkOf({ content: 'Hello' }), chunkOf({}, 'stop'));
const JSON_ANSWER = { id: 'c', choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }] };

const WAYS = {
  '/responses': { path: '/api/v1/responses', request: { input: 'Hi' } },
  'the relay': { path: '/v1/chat/completions', request: { messages: [{ role: 'user', content: 'Hi' }] } },
};

describe('a connection to the backend', () => {
  const passTime = useHeldTime();
  useRealSockets();

  let backend: ClosingBackend;
  let gateway: TestGateway;
  let answer: string;
  let close: (socket: Socket, count: number) => void;

  beforeEach(async () => {
    [answer, close] = [STREAM, () => {}];
    backend = await startClosingBackend((socket, { path, count }) => {
      if (path.endsWith('/models')) return void socket.end(jsonOf({ data: [] }, 'Connection: close'));
      if (answer !== '') socket.write(answer);
      close(socket, count);
    });
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl });
  });
  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  /** Returns the status of the reply, when all that the backend does at the end of its answer has arrived. */
  async function ask(way: keyof typeof WAYS, headers: Readonly<Record<string, string>> = {}): Promise<number> {
    const { path, request } = WAYS[way];
    const reply = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'm', stream: true, ...request }),
    });
    await reply.text();
    await allArrived();
    await setImmediate();
    return reply.status;
  }

  /** Returns how many connections these requests have opened. */
  async function opened(times: number, way: keyof typeof WAYS): Promise<number> {
    const before = backend.connections;
    for (let n = 0; n < times; n += 1) expect(await ask(way)).to.equal(200);
    return backend.connections - before;
  }

  for (const way of ['/responses', 'the relay'] as const) {
    describe(`of ${way}`, () => {
      it('is used again when one has stayed open for some time after a stream', async () => {
        expect(await opened(2, way)).to.equal(2);
        await passTime(PROOF_MS - 1);
        expect(await opened(1, way)).to.equal(1);
        await passTime(1);
        expect(await opened(5, way)).to.equal(0);
      });

      it('is never used again where each is closed after a stream, and others are made', async () => {
        close = (socket) => socket.end();
        for (let n = 0; n < 3; n += 1) {
          expect(await opened(3, way)).to.equal(3);
          await passTime(PROOF_MS);
        }
        expect(backend.requests).to.equal(backend.connections);
      });

      for (const how of ['end', 'resetAndDestroy'] as const) {
        it(`waits each time after another was closed early by ${how}`, async () => {
          await opened(1, way);
          await passTime(PROOF_MS);
          expect(await opened(2, way)).to.equal(0);
          close = (socket) => void setTimeout(() => socket[how](), 100);
          await opened(1, way);
          close = () => {};
          await passTime(100);
          expect(await opened(2, way)).to.equal(2);
          await passTime(PROOF_MS);
          expect(await opened(2, way)).to.equal(0);
          expect(await opened(1, way)).to.equal(1);
        });
      }

      it('does not count one that the backend closes later, or says that it closes', async () => {
        await opened(1, way);
        await passTime(PROOF_MS);
        close = (socket) => void setTimeout(() => socket.end(), PROOF_MS);
        await opened(1, way);
        await passTime(PROOF_MS);
        close = () => {};
        expect(await opened(3, way)).to.equal(1);
        for (const head of ['HTTP/1.1 200 OK\r\nConnection: close', 'HTTP/1.0 200 OK']) {
          answer = STREAM.replace('HTTP/1.1 200 OK', head);
          close = (socket) => socket.end();
          await opened(1, way);
          [answer, close] = [STREAM, () => {}];
          expect(await opened(3, way)).to.equal(1);
        }
      });

      it('fails one request and repeats none when it is lost with it, and waits from then on', async () => {
        await opened(1, way);
        await passTime(PROOF_MS);
        await opened(1, way);
        answer = '';
        close = (socket) => socket.end();
        const { requests } = backend;
        const key = { 'idempotency-key': 'k' };
        expect(await ask(way, key)).to.equal(502);
        expect(backend.requests).to.equal(requests + 1);
        // It may have run.
        if (way === '/responses') expect(await ask(way, key)).to.equal(409);
        expect(backend.requests).to.equal(requests + 1);
        [answer, close] = [STREAM, () => {}];
        expect(await opened(2, way)).to.equal(2);
      });

      it('is used again at once after an answer with a length, until one was closed early', async () => {
        answer = jsonOf(JSON_ANSWER);
        expect(await opened(3, way)).to.equal(1);
        close = (socket, count) => count > 3 && socket.end();
        expect(await opened(1, way)).to.equal(0);
        expect(await opened(3, way)).to.equal(3);
      });
    });
  }

  it('is used again when the other way has seen one stay open', async () => {
    await opened(1, 'the relay');
    await passTime(PROOF_MS);
    await opened(1, '/responses');
    expect(await opened(3, '/responses')).to.equal(0);
  });
});
