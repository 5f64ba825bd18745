import type { RequestHandler } from 'express';
import { ApiError } from '../../core/errors.ts';

export interface AllowHostsOptions {
  readonly host: string;
  readonly isLoopback: boolean;
  readonly publicBaseUrl: string | null;
  readonly trustProxy: number | readonly string[];
  readonly allowedHosts: readonly string[];
}

const HOST = /^(?<name>[\w.~-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;
const LOCAL = /^(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\]|host\.docker\.internal)\.?$/i;
const HEALTH_PATH = /^\/(?:healthz|readyz)\/?$/i;

/** Most requests name the host that the request before has named. */
let last: { readonly host: string; readonly name: string | undefined } = { host: '', name: undefined };

/**
 * Returns the name in a Host header, without the port; undefined if it is no valid host, or has an
 * address or a port that cannot be.
 */
export function hostNameOf(host: string): string | undefined {
  if (host !== last.host) {
    const name = HOST.exec(host)?.groups?.['name']?.toLowerCase();
    last = { host, name: name !== undefined && URL.canParse(`http://${host}`) ? name : undefined };
  }
  return last.name;
}

/**
 * Refuses hosts that are not local while only this machine can reach the gateway. A page on the
 * internet could otherwise use it, by a name that leads to this machine (DNS rebinding).
 */
export function allowHosts(options: AllowHostsOptions): RequestHandler {
  const { host, isLoopback, publicBaseUrl, trustProxy, allowedHosts } = options;
  if (!isLoopback || publicBaseUrl !== null || trustProxy !== 0) return (_req, _res, next) => next();
  const allowed = new Set([host, `[${host}]`, ...allowedHosts].map((name) => name.toLowerCase()));
  return (req, _res, next) => {
    // HTTP/1.0 has no Host header, and no browser speaks it.
    const name = req.headers.host === undefined ? host : (hostNameOf(req.headers.host) ?? '');
    if (!LOCAL.test(name) && !allowed.has(name) && !HEALTH_PATH.test(req.path)) {
      throw new ApiError('host_not_allowed', {
        message:
          'This gateway does not serve the host that the request names. Its operator can add it to ALLOWED_HOSTS.',
      });
    }
    next();
  };
}
