import type { RequestHandler } from 'express';
import { ApiError } from '../../core/errors.ts';
import { hostNameOf } from '../../wire/host-name.ts';

export interface AllowHostsOptions {
  readonly host: string;
  readonly isLoopback: boolean;
  readonly publicBaseUrl: string | null;
  readonly trustProxy: number | readonly string[];
  readonly allowedHosts: readonly string[];
}

const LOCAL = /^(?:(?:[\w-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\]|host\.docker\.internal)\.?$/i;
export const HEALTH_PATH = /^\/(?:healthz|readyz)\/?$/i;

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
