/**
 * A page cannot set the Authorization header of a WebSocket, but it can name subprotocols (RFC
 * 6455, section 1.9). OpenAI's browser clients send the key as one of them.
 */

import type { RequestHandler } from 'express';
import { upgradeOf } from '../wire/upgrade.ts';

const KEY = 'openai-insecure-api-key.';

/** Moves the key of a handshake to the Authorization header, where `authenticate` expects it. */
export const takeKeyFromProtocols: RequestHandler = (req, res, next) => {
  if (upgradeOf(res) !== undefined && req.headers.authorization === undefined) {
    const key = protocolsOf(req.headers['sec-websocket-protocol']).find((protocol) => protocol.startsWith(KEY));
    if (key !== undefined) req.headers.authorization = `Bearer ${key.slice(KEY.length)}`;
  }
  next();
};

/** A browser expects one of its protocols in the reply, which must not contain the key. */
export function chooseProtocol(protocols: ReadonlySet<string>): string | false {
  return [...protocols].find((protocol) => !protocol.startsWith(KEY)) ?? false;
}

function protocolsOf(header: string | undefined): readonly string[] {
  return (header ?? '').split(',').map((protocol) => protocol.trim());
}
