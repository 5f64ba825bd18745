import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { watchPace } from '../../src/wire/pace.ts';
import { useRealSockets } from '../support/real-sockets.ts';

describe('watchPace', () => {
  useRealSockets();

  const server = createServer();

  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  after(() => {
    server.closeAllConnections();
    server.close();
  });

  async function receive(): Promise<readonly [IncomingMessage, ServerResponse]> {
    const { port } = server.address() as AddressInfo;
    const asked = request({ port, host: '127.0.0.1', method: 'POST', agent: false });
    asked.on('error', () => undefined);
    asked.on('response', (reply) => reply.resume());
    asked.end('a body');
    return (await once(server, 'request')) as [IncomingMessage, ServerResponse];
  }

  const intervals: ReturnType<typeof setInterval>[] = [];
  const { setInterval: realInterval, clearInterval: realClear } = globalThis;

  beforeEach(() => {
    intervals.length = 0;
    globalThis.setInterval = ((act: () => void, ms: number) => {
      const timer = realInterval(act, ms);
      intervals.push(timer);
      return timer;
    }) as typeof setInterval;
    globalThis.clearInterval = (timer) => {
      intervals.splice(0, intervals.length, ...intervals.filter((other) => other !== timer));
      realClear(timer);
    };
  });

  afterEach(() => {
    for (const timer of intervals) realClear(timer);
    globalThis.setInterval = realInterval;
    globalThis.clearInterval = realClear;
  });

  it('ends with the body', async () => {
    const [req, res] = await receive();
    watchPace(req, () => undefined);
    expect(intervals).to.have.length(1);
    req.resume();
    await once(req, 'end');
    expect(intervals).to.have.length(0);
    res.end();
  });

  it('does not begin for a body that has been read before', async () => {
    const [req, res] = await receive();
    req.resume();
    await once(req, 'close');
    watchPace(req, () => undefined);
    expect(intervals).to.have.length(0);
    res.end();
  });

  it('does not begin for a client that has left', async () => {
    const [req] = await receive();
    req.destroy();
    await once(req, 'close');
    watchPace(req, () => undefined);
    expect(intervals).to.have.length(0);
  });
});
