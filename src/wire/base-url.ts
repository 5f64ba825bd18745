import { isIPv6 } from 'node:net';
import type { Request } from 'express';
import { ApiError } from '../core/errors.ts';
import { hostNameOf } from './host-name.ts';

/**
 * Returns the base URL without a trailing slash: the setting, or what the caller used. Throws
 * ApiError if a proxy names a host that is none.
 */
export function baseUrlOf(req: Request, publicBaseUrl: string | null): string {
  if (publicBaseUrl !== null) return publicBaseUrl;
  // HTTP/1.0 has no Host header, although the type says so.
  const host: string | undefined = req.host;
  if (host !== undefined && hostNameOf(host) === undefined) {
    throw new ApiError('invalid_request', { message: 'The request names no valid host.' });
  }
  // A proxy may pass on any text that a client sent in X-Forwarded-Proto.
  const scheme = req.protocol === 'https' ? 'https' : 'http';
  return `${scheme}://${host ?? socketAddressOf(req)}`;
}

function socketAddressOf({ socket: { localAddress = '', localPort } }: Request): string {
  return `${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}`;
}
