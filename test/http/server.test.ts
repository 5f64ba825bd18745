import { once } from 'node:events';
import { IncomingMessage, ServerResponse, type Server } from 'node:http';
import { connect, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { toRequestId, toUniquePart } from '../../src/core/ids.ts';
import { closeServer, createHttpServer, listen } from '../../src/http/server.ts';
import { closeIfUnread } from '../../src/access/stalled-client.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { useHeldTime } from '../support/held-time.ts';

const REQUEST_ID = toRequestId(toUniquePart('a'.repeat(32)));

const STALL_MS = 200;
/** More than the buffers of the kernel take. */
const LARGE = Buffer.alloc(64 * 1024 * 1024);

describe('createHttpServer', () => {
  useRealSockets();

  let server: Server;
  let port: number;
  /** The targets, in the order in which the application saw them. */
  let served: string[];

  beforeEach(async () => {
    served = [];
    server = createHttpServer(
      (req, res) => {
        served.push(`${req.url}`);
        if (req.url === '/slow') res.write('begun');
        else res.end(req.url === '/large' ? LARGE : req.url);
      },
      () => REQUEST_ID,
      { stallMs: STALL_MS, upgrades: (req) => req.url === '/upgrade' },
    );
    port = Number(new URL(await listen(server, { host: '127.0.0.1', port: 0 })).port);
  });

  afterEach(async () => {
    await closeServer(server);
  });

  for (const { name, place, line } of [
    {
      name: 'a port that is taken',
      place: () => ({ host: '127.0.0.1', port }),
      line: /^Cannot listen on 127\.0\.0\.1:\d+: another program uses this port; .* \(EADDRINUSE\)\.$/,
    },
    {
      name: 'an address of another machine',
      place: () => ({ host: '2001:db8::1', port: 8080 }),
      line: /^Cannot listen on \[2001:db8::1\]:8080.* \(E\w+\)\.$/,
    },
  ]) {
    it(`says in one line that it cannot listen on ${name}`, async () => {
      const another = createHttpServer(
        (_req, res) => res.end(),
        () => REQUEST_ID,
        { stallMs: STALL_MS },
      );
      const thrown = await listen(another, place()).catch((error: unknown) => error);
      expect(thrown).to.be.an('error').with.property('message').that.matches(line);
    });
  }

  for (const { name, sent, status, code } of [
    { name: 'what is not HTTP', sent: 'HELLO\r\n\r\n', status: 400, code: 'invalid_request' },
    {
      name: 'headers that are too large',
      sent: `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(40_000)}\r\n\r\n`,
      status: 431,
      code: 'payload_too_large',
    },
    {
      name: 'more headers than 200',
      sent: `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${'a: b\r\n'.repeat(199)}\r\n`,
      status: 431,
      code: 'payload_too_large',
    },
    { name: 'a request without a host', sent: 'GET / HTTP/1.1\r\n\r\n', status: 400, code: 'invalid_request' },
    {
      name: 'two hosts',
      sent: 'GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n',
      status: 400,
      code: 'invalid_request',
    },
    ...['a b', '%%%', '[', 'x:y', 'a@b', 'a/b', ''].map((host) => ({
      name: `the host ${JSON.stringify(host)}`,
      sent: `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      status: 400,
      code: 'invalid_request',
    })),
    {
      name: 'a target without a host',
      sent: 'GET http:// HTTP/1.1\r\nHost: x\r\n\r\n',
      status: 400,
      code: 'invalid_request',
    },
    {
      name: 'a target with half of a host',
      sent: 'GET http://[::1/x HTTP/1.1\r\nHost: x\r\n\r\n',
      status: 400,
      code: 'invalid_request',
    },
    {
      name: 'an expectation that nobody knows',
      sent: 'GET / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\n\r\n',
      status: 417,
      code: 'invalid_request',
    },
    {
      name: 'CONNECT',
      sent: 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n',
      status: 405,
      code: 'method_not_allowed',
    },
  ]) {
    it(`answers ${name} in JSON, with a request id`, async () => {
      const [head = '', body = ''] = (await exchange(sent)).split('\r\n\r\n');
      expect(head).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(head).to.include(`x-request-id: ${REQUEST_ID}`);
      expect(JSON.parse(body)).to.have.nested.property('error.code', code);
    });
  }

  for (const { target, seen } of [
    { target: '/v1/models?a=b', seen: '/v1/models?a=b' },
    { target: 'http://example.com/v1/models?a=b', seen: '/v1/models?a=b' },
    { target: 'http://example.com', seen: '/' },
    { target: '*', seen: '*' },
  ]) {
    it(`shows the application ${seen} of the target ${target}`, async () => {
      const reply = await exchange(`OPTIONS ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(reply).to.match(/^HTTP\/1\.1 200 /);
      expect(reply.split('\r\n')).to.include(seen);
    });
  }

  it('takes 200 headers', async () => {
    const sent = `GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${'a: b\r\n'.repeat(198)}\r\n`;
    expect(await exchange(sent)).to.match(/^HTTP\/1\.1 200 /);
  });

  it('answers what came before a target that it refuses first', async () => {
    const replies = await exchange('GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET http:// HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(replies.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });

  for (const { name, expectation, statuses } of [
    { name: 'a request that is not answered yet', expectation: '', statuses: [200, 200] },
    { name: 'one that is refused', expectation: 'Expect: 200-ok\r\n', statuses: [417] },
  ]) {
    it(`takes an upgrade that comes at once behind ${name} for a request without one`, async () => {
      const first = `GET / HTTP/1.1\r\nHost: x\r\n${expectation}\r\n`;
      const upgrade = 'Host: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n';
      const replies = await exchange(`${first}GET /upgrade HTTP/1.1\r\n${upgrade}`);
      expect(replies.match(/(?<=HTTP\/1\.1 )\d+/g)?.map(Number)).to.deep.equal(statuses);
    });
  }

  for (const { name, sent } of [
    { name: 'what is not HTTP', sent: 'HELLO\r\n\r\n' },
    { name: 'CONNECT', sent: 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n' },
  ]) {
    it(`writes nothing into a reply because of ${name} behind its request`, async () => {
      const socket = connect(port, '127.0.0.1');
      socket.write(requestFor('/slow', 'a'));
      const [begun] = (await once(socket, 'data')) as [Buffer];
      expect(begun.toString()).to.match(/^HTTP\/1\.1 200 [^]*\r\n\r\n5\r\nbegun\r\n$/);
      socket.write(sent);
      expect(await text(socket).catch(String)).to.equal('');
    });
  }

  it('serves HTTP/1.0, which needs no host', async () => {
    expect(await exchange('GET /x HTTP/1.0\r\n\r\n')).to.match(/^HTTP\/1\.1 200 /);
  });

  it('answers the many requests of a connection in their order', async () => {
    const many = Array.from({ length: 100 }, (_, n) => requestFor(`/${n}`, 'many'));
    const replies = await exchange(many.join('') + requestFor('/last', 'many', 'close'));
    expect(replies.match(/(?<=\r\n\r\n)\/[a-z\d]+/g)).to.deep.equal(
      [...many.keys()].map((n) => `/${n}`).concat('/last'),
    );
    expect(served).to.have.lengthOf(101);
  });

  it('closes a connection on which more requests wait than it may have, and serves none of them', async () => {
    const connection = new Socket();
    for (let n = 0; n < 200; n += 1) {
      const req = incoming(connection, `/${n}`);
      server.emit('request', req, new ServerResponse(req));
    }
    const begun = served.length;
    expect(connection.destroyed).to.equal(true);
    const one = incoming(new Socket(), '/one');
    server.emit('request', one, new ServerResponse(one));
    while (!served.includes('/one')) await new Promise(setImmediate);
    expect(served.slice(begun)).to.deep.equal(['/one']);
  });

  it('lets nobody wait for the many requests of another key', async () => {
    const connection = new Socket();
    const many = Array.from({ length: 100 }, (_, n) => incoming(connection, `/${n}`, 'many'));
    for (const req of [...many, incoming(connection, '/one', 'one')])
      server.emit('request', req, new ServerResponse(req));
    while (served.length < 101) await new Promise(setImmediate);
    expect(served.indexOf('/one')).to.be.below(20);
    expect(served.filter((target) => target !== '/one')).to.deep.equal(many.map(({ url }) => url));
  });

  it('begins few requests of new connections in one turn of the event loop', async () => {
    const firsts = Array.from({ length: 20 }, (_, n) => incoming(new Socket(), `/${n}`));
    for (const req of firsts) server.emit('request', req, new ServerResponse(req));
    expect(served).to.have.lengthOf(4);
    while (served.length < firsts.length) await new Promise(setImmediate);
    expect(served).to.deep.equal(firsts.map(({ url }) => url));
    // By now the connections are known.
    for (const req of firsts) server.emit('request', req, new ServerResponse(req));
    expect(served).to.have.lengthOf(20 + 16);
  });

  it('disconnects a client that does not read the end of a reply', async () => {
    const socket = connect(port, '127.0.0.1').pause();
    socket.on('error', () => undefined);
    const [accepted] = (await once(server, 'connection')) as [Socket];
    const closed = once(accepted, 'close');
    socket.write(requestFor('/large', 'a'));
    await closed;
    socket.destroy();
  });

  it('needs no timer for a reply that the system takes at once', async () => {
    const { setInterval: start } = globalThis;
    const timers: unknown[] = [];
    globalThis.setInterval = (run: () => void, ms?: number) => {
      timers.push(ms);
      return start(run, ms);
    };
    try {
      const socket = connect(port, '127.0.0.1');
      socket.write(requestFor('/', 'a'));
      await once(socket, 'data');
      expect(timers).to.deep.equal([]);
      socket.destroy();
    } finally {
      globalThis.setInterval = start;
    }
  });

  it('tells clients to close an idle connection long before it does so itself', async () => {
    const socket = connect(port, '127.0.0.1');
    const [accepted] = (await once(server, 'connection')) as [Socket];
    socket.write(requestFor('/', 'a'));
    const [reply] = (await once(socket, 'data')) as [Buffer];
    expect(reply.toString()).to.include('Keep-Alive: timeout=75\r\n');
    expect(accepted.timeout).to.be.greaterThan(600_000);
    socket.destroy();
  });

  describe('whose time is held', () => {
    const passTime = useHeldTime();

    it('keeps a connection whose next reply is silent for longer after one that was read late', async () => {
      const replies: ServerResponse[] = [];
      server.removeAllListeners('request');
      server.on('request', (_req: IncomingMessage, res: ServerResponse) => {
        closeIfUnread(res, STALL_MS);
        replies.push(res);
        if (replies.length === 2) replies[0]?.end(LARGE);
      });
      const socket = connect(port, '127.0.0.1').pause();
      const [accepted] = (await once(server, 'connection')) as [Socket];
      socket.write(requestFor('/', 'a') + requestFor('/', 'a'));
      while (replies.length < 2) await new Promise(setImmediate);
      await passTime(STALL_MS);
      socket.resume();
      while (replies[0]?.writableFinished !== true) await new Promise(setImmediate);
      await passTime(10 * STALL_MS);
      expect(accepted.destroyed).to.equal(false);
      socket.destroy();
    });

    it('does not keep the connection of a refused client that never closes it', async () => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => undefined);
      const [accepted] = (await once(server, 'connection')) as [Socket];
      const closed = once(accepted, 'close');
      socket.write('HELLO\r\n\r\n');
      await passTime(2000);
      await closed;
      socket.destroy();
    });

    it('lets a client read on that has not read all of its reply when the server closes', async () => {
      const socket = connect(port, '127.0.0.1');
      socket.write('GET /large HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n');
      await once(socket, 'readable');
      const closed = closeServer(server);
      let bytes = 0;
      for await (const piece of socket as AsyncIterable<Buffer>) {
        bytes += piece.length;
        if (bytes > LARGE.length) break;
      }
      expect(bytes).to.be.above(LARGE.length);
      await closed;
    });

    it('lets a client that sends all of its body before it reads have a reply that closes the connection', async () => {
      const body = Buffer.alloc(8 * 1024 * 1024);
      const socket = connect(port, '127.0.0.1');
      socket.write(`POST /refused HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`);
      socket.end(body);
      expect(await text(socket)).to.match(/^HTTP\/1\.1 200 OK\r\n[^]*\r\n\/refused$/);
    });

    it('does not wait long for the rest of a body that it does not read', async () => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      const [accepted] = (await once(server, 'connection')) as [Socket];
      const closed = once(accepted, 'close');
      socket.write('POST /refused HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9\r\n\r\nhalf');
      expect(await text(socket)).to.match(/\r\n\/refused$/);
      await passTime(2000);
      await closed;
      socket.destroy();
    });

    it('closes at once when its connections are idle', async () => {
      const socket = connect(port, '127.0.0.1');
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
      await once(socket, 'data');
      await closeServer(server);
    });
  });

  function incoming(connection: Socket, url: string, key?: string): IncomingMessage {
    const headers = { host: 'x', ...(key !== undefined && { authorization: `Bearer ${key}` }) };
    return Object.assign(new IncomingMessage(connection), { url, headers, rawHeaders: Object.entries(headers).flat() });
  }

  function requestFor(target: string, key: string, connection = 'keep-alive'): string {
    return `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\nAuthorization: Bearer ${key}\r\n\r\n`;
  }

  async function exchange(sent: string): Promise<string> {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(sent);
    return text(socket);
  }
});
