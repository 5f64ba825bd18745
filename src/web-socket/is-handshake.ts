import type { IncomingMessage } from 'node:http';

/** Whether this asks for a WebSocket where there is one. Any other upgrade is ignored, as HTTP allows. */
export function isHandshake({ method, url = '', headers }: IncomingMessage): boolean {
  const wantsIt = method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
  return wantsIt && /^(?:https?:\/\/[^/]*)?(?:\/api)?\/v1\/responses\/?(?:\?|$)/i.test(url);
}
