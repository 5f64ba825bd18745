/** A client on a bare socket: only it can stop reading, vanish at a given moment, and see the writes of the reply one by one. */

import { connect, type Socket } from 'node:net';
import { TEST_KEY } from './gateway.ts';

/** Sends a create request to the gateway at `url`. With `contentLength` it may promise more of a body than it sends. */
export function sendRaw(
  url: string,
  request: object,
  { contentLength, apiKey = TEST_KEY }: { contentLength?: number; apiKey?: string } = {},
): Socket {
  const { hostname, port, host } = new URL(url);
  const body = JSON.stringify(request);
  const head = [
    'POST /api/v1/responses HTTP/1.1',
    `Host: ${host}`,
    `Authorization: Bearer ${apiKey}`,
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${contentLength ?? Buffer.byteLength(body)}`,
  ];
  const socket = connect(Number(port), hostname);
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  return socket;
}

/** The body of a whole reply in the pieces in which it was written: each write is one chunk of HTTP's chunked encoding. */
export function writesOf(reply: Buffer): string[] {
  const writes: string[] = [];
  for (let at = reply.indexOf('\r\n\r\n') + 4; at < reply.length;) {
    const start = reply.indexOf('\r\n', at) + 2;
    const size = Number.parseInt(reply.toString('latin1', at, start), 16);
    if (size === 0) return writes;
    writes.push(reply.toString('utf8', start, start + size));
    at = start + size + 2;
  }
  throw new Error('the reply is cut short');
}
