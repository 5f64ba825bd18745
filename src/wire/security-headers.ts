/**
 * Strict-Transport-Security is missing, because it applies to the whole host name, which belongs to
 * the operator of the proxy in front.
 */

import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestHandler } from 'express';

/** The resource policy does not affect pages of other origins that use CORS. */
const EVERYWHERE = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** `sandbox` keeps a reply that is shown out of the origin where the console stores a key. */
export const API_HEADERS = {
  ...EVERYWHERE,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
} as const satisfies OutgoingHttpHeaders;

const toPageHeaders = (trustedTypes: string) =>
  ({
    ...EVERYWHERE,
    'cross-origin-opener-policy': 'same-origin',
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "connect-src 'self'",
      "img-src 'self' data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      `trusted-types ${trustedTypes}`,
    ].join('; '),
  }) as const satisfies OutgoingHttpHeaders;

export const PAGE_HEADERS = toPageHeaders("'none'");

export const secureApi: RequestHandler = setHeaders(API_HEADERS);

/** In the console the sanitiser may make HTML, of what it has cleaned. */
export const secureConsole: RequestHandler = setHeaders(toPageHeaders('dompurify'));

function setHeaders(headers: Readonly<Record<string, string>>): RequestHandler {
  const entries = Object.entries(headers);
  return (_req, res, next) => {
    for (const [name, value] of entries) res.setHeader(name, value);
    next();
  };
}
