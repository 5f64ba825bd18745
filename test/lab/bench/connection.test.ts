import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { expect } from 'chai';
import { useRealSockets } from '../../support/real-sockets.ts';
import { openConnection, type Connection } from './connection.ts';

const CHUNKED =
  'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nx-request-id: req_1\r\n\r\n' +
  '5\r\nfirst\r\n11\r\n\r\n0\r\n\r\nno end yet\r\n0\r\n\r\n';
const WITH_LENGTH = 'HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nnothing';

describe('a connection of the bench', () => {
  useRealSockets();
  let server: Server;
  let connection: Connection;
  /** What the server does with a request. */
  let play: (socket: Socket) => void;

  beforeEach(async () => {
    server = createServer({ noDelay: true }, (socket) => socket.on('data', () => play(socket)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    connection = openConnection(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
  afterEach(() => {
    connection.destroy();
    server.close();
  });

  async function exchange(): Promise<{ status: number; body: string }> {
    let body = '';
    const { status } = await connection.exchange(Buffer.from('request'), (bytes) => (body += bytes.toString()));
    return { status, body };
  }

  const cases = [
    { name: 'chunks', answer: CHUNKED, expected: { status: 200, body: 'first\r\n0\r\n\r\nno end yet' } },
    { name: 'a length', answer: WITH_LENGTH, expected: { status: 404, body: 'nothing' } },
  ];
  for (const { name, answer, expected } of cases) {
    it(`reads answers with ${name}, one after the other and byte by byte`, async () => {
      play = (socket) => socket.write(answer);
      expect(await exchange()).to.deep.equal(expected);
      play = (socket) => void writeByteByByte(socket, answer);
      expect(await exchange()).to.deep.equal(expected);
    });
  }

  it('fails when the connection is closed before the answer is whole', async () => {
    play = (socket) => socket.end(CHUNKED.slice(0, -2));
    const error = await exchange().catch((error: unknown) => error);
    expect(error).to.have.property('message').that.includes('before the answer was whole');
  });
});

async function writeByteByByte(socket: Socket, text: string): Promise<void> {
  for (const byte of text) await new Promise((resolve) => socket.write(byte, () => setImmediate(resolve)));
}
