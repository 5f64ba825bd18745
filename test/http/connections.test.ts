import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect } from 'chai';
import { toRequestId, toUniquePart } from '../../src/core/ids.ts';
import { createConnections } from '../../src/http/connections.ts';
import { createHttpServer } from '../../src/http/server.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const REQUEST_ID = toRequestId(toUniquePart('a'.repeat(32)));
/** The fewest that a gateway takes, however few files it may open. */
const MOST = 16;
/** More than the buffers of the kernel take. */
const LARGE = Buffer.alloc(64 * 1024 * 1024);

describe('the connections of clients', () => {
  useRealSockets();
  let server: Server;
  let sockets: Socket[];

  beforeEach(async () => {
    sockets = [];
    server = createHttpServer(
      (req, res) => res.end(req.url === '/large' ? LARGE : 'small'),
      () => REQUEST_ID,
      { stallMs: 60_000 },
    );
    createConnections({ info: () => undefined, warn: () => undefined }, 1).watch(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  async function open(): Promise<Socket> {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    await once(server, 'connection');
    return socket;
  }

  it('make room by closing an idle one, and none whose client still reads a reply that has ended', async () => {
    const [slow, idle] = [await open(), await open()];
    slow.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(slow, 'readable');
    idle.write('GET /small HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(idle, 'data');
    while (sockets.length < MOST) await open();
    const closed = once(idle, 'close');
    await open();
    await closed;
    let bytes = 0;
    for await (const piece of slow as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > LARGE.length) break;
    }
    expect(bytes).to.be.above(LARGE.length);
  });
});
