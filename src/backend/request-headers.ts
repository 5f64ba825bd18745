import type { IncomingHttpHeaders } from 'node:http';
import type { Dialect } from '../core/dialects.ts';
import type { BackendSpec } from '../core/routes.ts';

/** The backend sees the caller's own key (`passthrough`) or the gateway's (`static`, `managed`). */
export type KeyOwner = 'caller' | 'gateway';

/** Returns the header that carries the key to the backend. A token of Entra ID is always a bearer. */
export function keyHeaders(key: string, { keyHeader }: KeyHeader): Readonly<Record<string, string>> {
  const isToken = key.startsWith('eyJ');
  return keyHeader === 'authorization' || isToken ? { authorization: `Bearer ${key}` } : { [keyHeader]: key };
}

/**
 * Returns the headers with those of this backend and the key that it wants: the gateway's own, or that of the caller,
 * which comes as a bearer.
 */
export function withKey(
  headers: Readonly<Record<string, string>>,
  { apiKey, dialect, headers: own }: BackendSpec,
): Readonly<Record<string, string>> {
  if (apiKey !== null) return { ...headers, ...keyHeaders(apiKey, dialect), ...own };
  const { authorization, ...rest } = headers;
  if (dialect.keyHeader === 'authorization' || authorization === undefined) return { ...headers, ...own };
  return { ...rest, ...keyHeaders(authorization.replace(/^Bearer /, ''), dialect), ...own };
}

type KeyHeader = Pick<Dialect, 'keyHeader'>;

const WISHES = ['accept', 'openai-beta', 'user-agent'];

/** Returns what a client says of its program and its wishes. */
export function wishesOf(headers: IncomingHttpHeaders): Record<string, string> {
  const wishes: Record<string, string> = {};
  for (const name of WISHES) {
    const value = headers[name];
    if (typeof value === 'string') wishes[name] = value;
  }
  return wishes;
}

/** Returns the headers of a request that is forwarded: those of the client that are allowed, and these. */
export function forwardedHeaders(
  ofClient: IncomingHttpHeaders,
  headers: Readonly<Record<string, string>>,
  body: Buffer | undefined,
): IncomingHttpHeaders {
  const passedOn: IncomingHttpHeaders = wishesOf(ofClient);
  const ofBody = body === undefined ? ['content-type', 'content-length', 'content-encoding'] : ['content-type'];
  for (const name of ofBody) if (ofClient[name] !== undefined) passedOn[name] = ofClient[name];
  if (body !== undefined) passedOn['content-length'] = String(body.length);
  // A compressor holds events back until it has enough of them, and errors are read here.
  return { ...passedOn, 'accept-encoding': 'identity', ...headers };
}
