/**
 * The key of a web page. A browser lets no page set the Authorization header of a WebSocket, but it lets it name subprotocols
 * (RFC 6455, section 1.9), so OpenAI's clients for browsers put the key among these; this gateway takes it there too.
 */

import type { RequestHandler } from 'express';
import { upgradeOf } from '../upgrade.ts';

const KEY = 'openai-insecure-api-key.';

/** For a handshake without an Authorization header. To stand before `authenticate`, which then finds the key where all are. */
export const takeKeyFromProtocols: RequestHandler = (req, res, next) => {
  if (upgradeOf(res) !== undefined && req.headers.authorization === undefined) {
    const key = protocolsOf(req.headers['sec-websocket-protocol']).find((protocol) => protocol.startsWith(KEY));
    if (key !== undefined) req.headers.authorization = `Bearer ${key.slice(KEY.length)}`;
  }
  next();
};

/** A browser wants one of its protocols back, and a key has no place in a reply. */
export function chooseProtocol(protocols: ReadonlySet<string>): string | false {
  return [...protocols].find((protocol) => !protocol.startsWith(KEY)) ?? false;
}

function protocolsOf(header: string | undefined): readonly string[] {
  return (header ?? '').split(',').map((protocol) => protocol.trim());
}
