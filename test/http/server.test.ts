import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { toRequestId, toUniquePart } from '../../src/core/ids.ts';
import { closeServer, createHttpServer, listen } from '../../src/http/server.ts';

const REQUEST_ID = toRequestId(toUniquePart('a'.repeat(32)));

describe('createHttpServer', () => {
  let server: Server;
  let port: number;

  beforeEach(async () => {
    server = createHttpServer(
      (_req, res) => res.end('ok'),
      () => REQUEST_ID,
    );
    port = Number(new URL(await listen(server, { host: '127.0.0.1', port: 0 })).port);
  });

  afterEach(async () => {
    await closeServer(server);
  });

  for (const { name, sent, status, code } of [
    { name: 'what is not HTTP', sent: 'HELLO\r\n\r\n', status: 400, code: 'invalid_request' },
    {
      name: 'headers that are too large',
      sent: `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(40_000)}\r\n\r\n`,
      status: 431,
      code: 'payload_too_large',
    },
  ]) {
    it(`answers ${name} in JSON, with a request id`, async () => {
      const [head = '', body = ''] = (await exchange(sent)).split('\r\n\r\n');
      expect(head).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(head).to.include(`x-request-id: ${REQUEST_ID}`);
      expect(JSON.parse(body)).to.have.nested.property('error.code', code);
    });
  }

  it('closes at once when its connections are idle', async () => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data');
    const startMs = performance.now();
    await closeServer(server);
    expect(performance.now() - startMs).to.be.below(900);
  });

  async function exchange(sent: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(sent);
    return text(socket);
  }
});
