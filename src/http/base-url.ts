import { isIPv6 } from 'node:net';
import type { Request } from 'express';

/** Returns the base URL without a trailing slash: the setting, or what the caller used. */
export function baseUrlOf(req: Request, publicBaseUrl: string | null): string {
  // HTTP/1.0 has no Host header, although the type says so.
  const host: string | undefined = req.host;
  return publicBaseUrl ?? `${req.protocol}://${host ?? socketAddressOf(req)}`;
}

function socketAddressOf({ socket: { localAddress = '', localPort } }: Request): string {
  return `${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}`;
}
