import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';

describe('connecting to the chat backend', () => {
  let server: Server;
  let sockets: Socket[];

  beforeEach(() => {
    sockets = [];
    server = createServer();
  });

  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  });

  async function listen(onConnection: (socket: Socket) => void): Promise<number> {
    server.on('connection', (socket) => {
      sockets.push(socket.on('error', () => {}));
      onConnection(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no port');
    return address.port;
  }

  async function failureOfAsking(baseUrl: string, connectTimeoutMs = 5000): Promise<unknown> {
    // Without mocha's `--import`, which brings nock.
    const worker = new Worker(new URL('./connecting-worker.ts', import.meta.url), {
      workerData: { baseUrl, connectTimeoutMs },
      execArgv: [],
    });
    const [failure] = (await once(worker, 'message')) as unknown[];
    await worker.terminate();
    return failure;
  }

  it('fails as unreachable when nobody listens', async () => {
    const port = await listen(() => {});
    server.close();
    await once(server, 'close');

    expect(await failureOfAsking(`http://127.0.0.1:${port}/v1`)).to.deep.equal({
      code: 'upstream_unreachable',
      status: 502,
      message: 'The backend refused the connection.',
    });
  });

  it('fails as unreachable when the other side does not speak TLS', async () => {
    const port = await listen(
      (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
    );

    expect(await failureOfAsking(`https://127.0.0.1:${port}/v1`)).to.include({
      code: 'upstream_unreachable',
      message: 'No TLS connection to the backend could be made.',
    });
  });

  it('fails as unreachable when the other side hangs up in the TLS handshake', async () => {
    const port = await listen((socket) => void socket.once('data', () => socket.destroy()));

    expect(await failureOfAsking(`https://127.0.0.1:${port}/v1`)).to.include({
      code: 'upstream_unreachable',
      message: 'The backend closed the connection while it was being opened.',
    });
  });

  it('fails as unreachable when the TLS handshake never ends', async () => {
    const port = await listen(() => {});

    expect(await failureOfAsking(`https://127.0.0.1:${port}/v1`, 100)).to.deep.equal({
      code: 'upstream_unreachable',
      status: 502,
      message: 'The backend did not accept a connection in time.',
    });
  });

  it('fails as invalid when the other side does not speak HTTP', async () => {
    const port = await listen((socket) => void socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n')));

    expect(await failureOfAsking(`http://127.0.0.1:${port}/v1`)).to.include({
      code: 'upstream_invalid_response',
      status: 502,
    });
  });

  it('fails as broken, not as unreachable, when the connection ends after the request was sent', async () => {
    const port = await listen((socket) => void socket.once('data', () => socket.destroy()));

    expect(await failureOfAsking(`http://127.0.0.1:${port}/v1`)).to.include({
      code: 'upstream_error',
      status: 502,
      message: 'The backend closed the connection before it answered.',
    });
  });
});
