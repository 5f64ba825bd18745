/** A client on a bare socket: only it can stop reading, vanish at a given moment, and see the writes of the reply one by one. */

import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
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

/** What one connection may have waiting, with room to spare. */
const AT_ONCE = 100;

/** Sends a request so many times, without waiting for the replies to those before. Returns their statuses. */
export async function sendTimes(
  url: string,
  times: number,
  { line, headersOf = () => ({}), body = '' }: RepeatedRequest,
): Promise<readonly number[]> {
  const { hostname, port, host } = new URL(url);
  const statuses: number[] = [];
  for (let from = 0; from < times; from += AT_ONCE) {
    const to = Math.min(times, from + AT_ONCE);
    const socket = connect(Number(port), hostname);
    for (let at = from; at < to; at += 1) {
      const headers = {
        host,
        authorization: `Bearer ${TEST_KEY}`,
        connection: at === to - 1 ? 'close' : 'keep-alive',
        ...(body !== '' && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...headersOf(at),
      };
      const head = [`${line} HTTP/1.1`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
    }
    for (const [, status] of (await text(socket)).matchAll(/HTTP\/1\.1 (\d{3}) /g)) statuses.push(Number(status));
  }
  return statuses;
}

interface RepeatedRequest {
  /** The method and the path. */
  readonly line: string;
  readonly headersOf?: (at: number) => Readonly<Record<string, string>>;
  readonly body?: string;
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
