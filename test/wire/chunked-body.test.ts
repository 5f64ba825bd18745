import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect } from 'chai';
import { openChunkedBody, type ChunkedBody } from '../../src/wire/chunked-body.ts';
import { until } from '../support/time.ts';

const LONG = Buffer.alloc(100_000, 'long ');
const HEAD_END = '\r\n\r\n';

describe('a chunked body', () => {
  let server: Server;
  let client: Socket;
  let received: string;
  let answer: (body: ChunkedBody, res: ServerResponse) => void;

  beforeEach(async () => {
    server = createServer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/plain' });
      answer(openChunkedBody(res), res);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    received = '';
    client.on('data', (bytes) => (received += bytes.toString('latin1')));
  });

  afterEach(() => {
    client.destroy();
    server.close();
  });

  const cases: readonly { name: string; pieces: readonly (string | Uint8Array)[]; end?: string; expected: string }[] = [
    { name: 'text', pieces: ['one', 'three'], end: 'end', expected: '3\r\none\r\n5\r\nthree\r\n3\r\nend\r\n' },
    { name: 'text beyond Latin-1', pieces: ['日本'], expected: `6\r\n${latin1('日本')}\r\n` },
    { name: 'text of Latin-1', pieces: ['é'], expected: `2\r\n${latin1('é')}\r\n` },
    { name: 'bytes', pieces: [Buffer.from('é')], expected: `2\r\n${latin1('é')}\r\n` },
    { name: 'many bytes', pieces: [LONG], expected: `186a0\r\n${latin1(LONG)}\r\n` },
    { name: 'a long text', pieces: [LONG.toString()], expected: `186a0\r\n${latin1(LONG)}\r\n` },
    {
      name: 'a long text beyond Latin-1 at the end',
      pieces: ['one'],
      end: '日'.repeat(10_000),
      expected: `3\r\none\r\n7530\r\n${latin1('日'.repeat(10_000))}\r\n`,
    },
    { name: 'empty pieces', pieces: ['', new Uint8Array(), 'a'], expected: '1\r\na\r\n' },
    { name: 'nothing', pieces: [], expected: '' },
  ];

  for (const { name, pieces, end, expected } of cases) {
    it(`is a chunk for each piece: ${name}`, async () => {
      answer = (body) => {
        for (const piece of pieces) body.write(piece);
        body.end(end);
      };
      client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
      await until(() => received.endsWith('0\r\n\r\n'));
      const [head = ''] = received.split(HEAD_END, 1);
      expect(head.toLowerCase()).to.include('transfer-encoding: chunked');
      expect(received.slice(head.length + HEAD_END.length)).to.equal(`${expected}0\r\n\r\n`);
    });
  }

  it('has no chunks for a client of HTTP/1.0', async () => {
    answer = (body) => {
      body.write('one');
      body.write(Buffer.from('two'));
      body.end('end');
    };
    client.write('GET / HTTP/1.0\r\nhost: a\r\n\r\n');
    await once(client, 'end');
    expect(received.split(HEAD_END)[1]).to.equal('onetwoend');
  });

  it('leaves the connection to the next request', async () => {
    answer = (body) => body.end('a');
    client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await until(() => received.split('1\r\na\r\n0\r\n\r\n').length === 3);
  });

  it('says that the client reads slowly, and when it has read', async () => {
    let refused = false;
    let drained = false;
    answer = (body, res) => {
      res.once('drain', () => (drained = true));
      while (body.write('a'.repeat(10_000)));
      refused = true;
    };
    client.pause();
    client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
    await until(() => refused);
    client.resume();
    await until(() => drained);
  });
});

/** Returns the bytes as the client above collects them. */
function latin1(text: string | Buffer): string {
  return Buffer.from(text).toString('latin1');
}
