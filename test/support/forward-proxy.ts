/** A forward proxy as networks have it: CONNECT for TLS, and requests with the whole address for plain HTTP. */

import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

export interface ForwardProxy {
  readonly port: number;
  /** The first words of each request, such as `CONNECT backend.test:443`. */
  readonly seen: readonly string[];
  readonly credentials: readonly (string | undefined)[];
  /** From now on it answers so in the place of the backend. */
  refuse(status: number): void;
  close(): Promise<void>;
}

/** Every name leads to this machine, as the proxy has a name server of its own. */
export async function startForwardProxy(): Promise<ForwardProxy> {
  const seen: string[] = [];
  const credentials: (string | undefined)[] = [];
  let refusal: number | undefined;
  const sockets = new Set<Duplex>();
  const note = ({ method, url, headers }: IncomingMessage): void => {
    seen.push(`${method} ${url}`);
    credentials.push(headers['proxy-authorization']);
  };
  const keep = (socket: Duplex): void => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };

  const server = createServer((req, res) => {
    note(req);
    if (refusal !== undefined) return void res.writeHead(refusal, { 'content-type': 'text/html' }).end('<p>No</p>');
    const url = new URL(req.url ?? '');
    const { 'proxy-authorization': _own, ...headers } = req.headers;
    const { method } = req;
    const passed = request({ host: '127.0.0.1', port: url.port, path: url.pathname + url.search, method, headers });
    passed.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(res);
    });
    passed.on('error', () => res.destroy());
    req.pipe(passed);
  });
  server.on('connection', keep);
  server.on('connect', (req: IncomingMessage, near: Socket) => {
    note(req);
    if (refusal !== undefined) return void near.end(`HTTP/1.1 ${refusal} No\r\ncontent-length: 0\r\n\r\n`);
    const far = connect({ host: '127.0.0.1', port: Number(req.url?.split(':').at(-1)) }, () => {
      near.write('HTTP/1.1 200 Connected\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    keep(far);
    far.on('error', () => near.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    port: (server.address() as AddressInfo).port,
    seen,
    credentials,
    refuse(status) {
      refusal = status;
    },
    async close() {
      if (!server.listening) return;
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
