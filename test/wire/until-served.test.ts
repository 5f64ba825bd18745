import { once } from 'node:events';
import { createServer, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { untilServed } from '../../src/wire/until-served.ts';
import { useRealSockets } from '../support/real-sockets.ts';

describe('untilServed', () => {
  useRealSockets();

  let server: Server;

  beforeEach(async () => {
    server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => server.close());

  async function ask() {
    const client = request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, agent: false });
    client.on('error', () => undefined);
    client.end();
    const [, res] = (await once(server, 'request')) as [unknown, ServerResponse];
    return { client, res };
  }

  it('aborts when the client leaves', async () => {
    const { client, res } = await ask();
    const signal = untilServed(res);
    expect(signal.aborted).to.equal(false);
    client.destroy();
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    expect(signal.reason).to.have.property('code', 'client_disconnected');
  });

  it('has aborted when the client has left before', async () => {
    const { client, res } = await ask();
    client.destroy();
    await once(res, 'close');
    expect(untilServed(res).aborted).to.equal(true);
  });
});
