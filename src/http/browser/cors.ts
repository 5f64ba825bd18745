import type { RequestHandler, Response } from 'express';

/**
 * Lets pages of these origins (`*` for all) call the gateway, without credentials of the browser.
 * The `cors` package knows no wildcard among exposed headers.
 */
export function allowOrigins(origins: readonly string[]): RequestHandler {
  const any = origins.includes('*');
  const known = new Set(origins);

  return (req, res, next) => {
    const { origin } = req.headers;
    // A cache must not serve the reply for one origin to another.
    if (!any && known.size > 0) res.vary('Origin');
    const isAllowed = origin !== undefined && (any || known.has(origin));
    if (isAllowed) {
      res.setHeader('access-control-allow-origin', any ? '*' : origin);
      res.setHeader('access-control-expose-headers', EXPOSED);
    }
    const isPreflight = req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined;
    if (!isPreflight || known.size === 0) {
      next();
      return;
    }
    if (isAllowed) allowRequests(res, req.headers['access-control-request-headers']);
    res.status(204).end();
  };
}

/** The wildcard covers all rate limits (x-ratelimit-…); the names are for browsers without it. */
const EXPOSED = [
  '*',
  'x-request-id',
  'x-upstream-request-id',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
  'x-dropped-tools',
  'x-dropped-items',
  'x-ignored-parameters',
  'x-demo-backend',
  'idempotency-replayed',
  'location',
  'x-ratelimit-limit-requests',
  'x-ratelimit-limit-tokens',
  'x-ratelimit-remaining-requests',
  'x-ratelimit-remaining-tokens',
  'x-ratelimit-reset-requests',
  'x-ratelimit-reset-tokens',
].join(', ');

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
/** Two hours, the maximum of Chromium. */
const MAX_AGE_S = '7200';
const MAX_NAMES_LENGTH = 4096;

function allowRequests(res: Response, requestHeaders: string | undefined): void {
  res.setHeader('access-control-allow-methods', METHODS);
  res.setHeader('access-control-max-age', MAX_AGE_S);
  if (requestHeaders === undefined) return;
  // SDKs send headers of their own, and a wildcard does not include `Authorization`.
  res.vary('Access-Control-Request-Headers');
  if (
    requestHeaders.length <= MAX_NAMES_LENGTH &&
    /^[\w!#$%&'*+.^`|~-]+(?:[ ,]+[\w!#$%&'*+.^`|~-]+)*$/.test(requestHeaders)
  ) {
    res.setHeader('access-control-allow-headers', requestHeaders);
  }
}
