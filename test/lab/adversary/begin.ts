/** Requests whose clients do as they like. */
import { request, type ClientRequest, type IncomingMessage } from 'node:http';

export const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

export interface Beginning {
  readonly url: string;
  readonly key: string;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: string | Buffer;
}

/** Begins a request that its client has not ended. It has a connection of its own. */
export function begin({ url, key, headers = {}, body = '' }: Beginning): ClientRequest {
  const asked = request(url, {
    method: headers === HANDSHAKE ? 'GET' : 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
  });
  asked.on('error', () => undefined);
  if (body === '') asked.flushHeaders();
  else asked.write(body);
  return asked;
}

/** Resolves with the status of the answer, 0 without one. */
export async function answerOf(asked: ClientRequest): Promise<number> {
  return new Promise<number>((resolve) => {
    asked.once('response', (reply: IncomingMessage) => {
      reply.resume();
      resolve(reply.statusCode ?? 0);
    });
    asked.once('upgrade', (reply: IncomingMessage) => resolve(reply.statusCode ?? 0));
    asked.once('close', () => resolve(0));
  });
}
