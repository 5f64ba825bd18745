import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { expect } from 'chai';
import { openPool, type Connections } from '../../../src/store/postgres/pool.ts';
import { useRealSockets } from '../../support/real-sockets.ts';

describe('a PostgreSQL that dismisses whom it has just welcomed', () => {
  useRealSockets();
  let server: Server;
  let connections: Connections | undefined;

  afterEach(async () => {
    await connections?.close();
    server.close();
  });

  /** A server that says this to whoever comes, and nothing more. */
  async function openTo(words: Buffer): Promise<Connections> {
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(words));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    return openPool({ url: `postgres://gateway@127.0.0.1:${port}/gateway`, size: 1, onLost: () => undefined });
  }

  // As a gateway that was paused finds it, whose server was stopped meanwhile.
  it('ends a call and not the process when both come in one packet', async () => {
    connections = await openTo(Buffer.concat([AUTHENTICATED, READY, ENDED_BY_OPERATOR]));
    const call = connections.lookUp((connection) => connection.rows({ name: 'one', text: 'SELECT 1' }));
    const error: unknown = await call.catch((error: unknown) => error);
    expect(error).to.be.instanceOf(Error);
  });
});

const AUTHENTICATED = toMessage('R', Buffer.alloc(4));
const READY = toMessage('Z', Buffer.from('I'));
const ENDED_BY_OPERATOR = toMessage('E', Buffer.from('SFATAL\0C57P01\0Mterminating connection\0\0'));

/** Its kind, its length with that of the length, and what it says. */
function toMessage(kind: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(kind), length, body]);
}
