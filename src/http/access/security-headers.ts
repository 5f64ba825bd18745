/**
 * What browsers are told of every reply. There is no Strict-Transport-Security: whoever ends TLS in front of the gateway
 * answers for the whole host name, of which the gateway may be one part.
 */

import type { OutgoingHttpHeaders } from 'node:http';
import type { RequestHandler } from 'express';

/** Pages of other origins read replies by CORS, where it is allowed, which the resource policy does not touch. */
const EVERYWHERE = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/**
 * A reply of the API is no page. One that a browser shows all the same, such as a file that the backend passes on, must
 * not become one of the origin at which the console keeps a key.
 */
export const API_HEADERS = {
  ...EVERYWHERE,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
} as const satisfies OutgoingHttpHeaders;

/** Nothing from elsewhere, nothing inline, and no text ever becomes HTML or a script. */
export const PAGE_HEADERS = {
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
    "trusted-types 'none'",
  ].join('; '),
} as const satisfies OutgoingHttpHeaders;

/** For every reply, until `securePage` says otherwise. */
export const secureApi: RequestHandler = setHeaders(API_HEADERS);

/** For a page and what it loads. */
export const securePage: RequestHandler = setHeaders(PAGE_HEADERS);

function setHeaders(headers: Readonly<Record<string, string>>): RequestHandler {
  const entries = Object.entries(headers);
  return (_req, res, next) => {
    for (const [name, value] of entries) res.setHeader(name, value);
    next();
  };
}
