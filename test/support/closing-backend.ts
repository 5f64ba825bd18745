/** A chat backend on a bare socket, which closes its connections as it likes, whatever it has promised. */

import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

export interface ReadRequest {
  readonly path: string;
  readonly text: string;
  /** How many requests this connection has brought, with this one. */
  readonly count: number;
}

export interface ClosingBackend {
  /** With its `/v1`. */
  readonly baseUrl: string;
  /** How many connections there have been. */
  readonly connections: number;
  /** How many requests have been read to their end. */
  readonly requests: number;
  close(): Promise<void>;
}

/** Calls `answer` for each whole request. */
export async function startClosingBackend(
  answer: (socket: Socket, request: ReadRequest) => void,
): Promise<ClosingBackend> {
  let connections = 0;
  let requests = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    connections += 1;
    sockets.add(socket);
    let [received, count] = ['', 0];
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1');
      const end = received.indexOf('\r\n\r\n') + 4;
      const length = Number(/^content-length: (\d+)/im.exec(received)?.[1] ?? 0);
      if (end < 4 || received.length < end + length) return;
      const [path = '', text] = [received.split(' ', 2)[1], received.slice(end, end + length)];
      received = '';
      requests += 1;
      answer(socket, { path, text, count: ++count });
    });
    socket.once('end', () => socket.end());
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    get connections() {
      return connections;
    },
    get requests() {
      return requests;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const KEEP_ALIVE = 'Keep-Alive: timeout=5, max=100';

/** A whole answer of these events, as a stream without a length. */
export function streamOf(...events: readonly unknown[]): string {
  const chunks = [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => {
    const text = `data: ${data}\n\n`;
    return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  });
  const head = ['HTTP/1.1 200 OK', 'Content-Type: text/event-stream', 'Transfer-Encoding: chunked', KEEP_ALIVE];
  return `${head.join('\r\n')}\r\n\r\n${chunks.join('')}0\r\n\r\n`;
}

/** A whole answer in JSON, with its length. */
export function jsonOf(body: unknown, ...headers: readonly string[]): string {
  const text = JSON.stringify(body);
  const length = `Content-Length: ${Buffer.byteLength(text)}`;
  const head = ['HTTP/1.1 200 OK', 'Content-Type: application/json', length, KEEP_ALIVE, ...headers];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}
