/**
 * A backend that closes its connection soon after a streamed answer although it has promised to keep it, as cpp-httplib and so
 * llama.cpp do: no request may be put on a connection that is about to close.
 */

import type { Socket } from 'node:net';
import { expect } from 'chai';
import { startClosingBackend, streamOf, type ClosingBackend } from '../support/closing-backend.ts';
import { TEST_KEY } from '../support/gateway.ts';
import { startGatewayProcess, type GatewayProcess } from '../support/gateway-process.ts';
import { chunkOf } from '../support/machine.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const WORKERS = 8;
const REQUESTS = 640;
const ANSWER = streamOf(chunkOf({ content: 'Hello' }), chunkOf({}, 'stop'));

interface Way {
  readonly name: string;
  readonly path: string;
  readonly request: object;
}

const RESPONSES = { path: '/api/v1/responses' };
const WAYS: readonly Way[] = [
  { ...RESPONSES, name: 'a stream of /responses', request: { model: 'm', input: 'Hi', stream: true } },
  { ...RESPONSES, name: 'JSON of /responses', request: { model: 'm', input: 'Hi' } },
  {
    name: 'a relayed stream',
    path: '/v1/chat/completions',
    request: { model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true },
  },
];

/** Exactly so much later, since a timer takes a whole millisecond. */
function after(ms: number, run: () => void): void {
  const dueMs = performance.now() + ms;
  const look = (): unknown => (performance.now() >= dueMs ? run() : setImmediate(look));
  look();
}

describe('a backend, asked by eight at once', () => {
  useRealSockets();

  let backend: ClosingBackend;
  let gateway: GatewayProcess;

  afterEach(async () => {
    gateway.kill();
    await backend.close();
  });

  async function open(answer: (socket: Socket, count: number) => unknown): Promise<void> {
    backend = await startClosingBackend((socket, { count }) => answer(socket, count));
    gateway = await startGatewayProcess({
      UPSTREAM_BASE_URL: backend.baseUrl,
      AUTH_MODE: 'static',
      API_KEYS: TEST_KEY,
    });
  }

  /** Returns how many requests were not answered as they should be, what the backend has seen of them, and its connections. */
  async function askAll({ name, path, request }: Way, what: string) {
    const [ranBefore, before] = [backend.requests, backend.connections];
    let [asked, lost] = [0, 0];
    async function work(): Promise<void> {
      while (asked < REQUESTS) {
        asked += 1;
        const reply = await fetch(`${gateway.url}${path}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
          body: JSON.stringify(request),
        });
        const text = await reply.text();
        if (reply.status !== 200 || !text.includes('Hello')) lost += 1;
      }
    }
    await Promise.all(Array.from({ length: WORKERS }, work));
    const [ran, opened] = [backend.requests - ranBefore, backend.connections - before];
    console.log(`\n  ${lost} of ${REQUESTS} lost, ${opened} connections: ${what}, ${name}`);
    return { lost, ran, opened };
  }

  for (const way of WAYS) {
    for (const ms of [0, 0.5, 2]) {
      it(`that closes each connection ${ms} ms after its answer loses no request: ${way.name}`, async () => {
        await open((socket) => {
          socket.write(ANSWER);
          after(ms, () => socket.end());
        });
        expect(await askAll(way, `closed after ${ms} ms`)).to.include({ lost: 0, ran: REQUESTS });
      });
    }

    it(`that resets each connection after its answer loses no request: ${way.name}`, async () => {
      // Node writes the end of a request on its own, and a reset just before would take the answer with it. A gateway that answers
      // something else in between has written it.
      await open(async (socket) => {
        await fetch(`${gateway.url}/healthz`);
        socket.write(ANSWER);
        after(0.5, () => socket.resetAndDestroy());
      });
      expect(await askAll(way, 'reset after 0.5 ms')).to.include({ lost: 0, ran: REQUESTS });
    });

    it(`that says each time when it closes keeps its connections for so long: ${way.name}`, async () => {
      const last = ANSWER.replace('Keep-Alive: timeout=5, max=100', 'Connection: close');
      await open((socket, count) => (count < 10 ? socket.write(ANSWER) : socket.end(last)));
      await askAll(way, 'warm-up');
      const { lost, ran, opened } = await askAll(way, 'closed after 10 requests, and said so');
      expect({ lost, ran }).to.deep.equal({ lost: 0, ran: REQUESTS });
      expect(opened).to.be.below(REQUESTS / 4);
    });

    it(`whose connections last has them used again: ${way.name}`, async () => {
      await open((socket) => socket.write(ANSWER));
      await askAll(way, 'warm-up');
      const { lost, opened } = await askAll(way, 'never closed');
      expect(lost).to.equal(0);
      expect(opened).to.be.at.most(WORKERS);
    });
  }
});
