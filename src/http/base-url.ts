import { isIPv6 } from 'node:net';
import type { Request } from 'express';

/** Where this gateway is reached, without a slash at the end: the setting, else what the caller used. */
export function baseUrlOf(req: Request, publicBaseUrl: string | null): string {
  // HTTP/1.0 needs no Host header, whatever the type says.
  const host: string | undefined = req.host;
  return publicBaseUrl ?? `${req.protocol}://${host ?? socketAddressOf(req)}`;
}

function socketAddressOf({ socket: { localAddress = '', localPort } }: Request): string {
  return `${isIPv6(localAddress) ? `[${localAddress}]` : localAddress}:${localPort}`;
}
