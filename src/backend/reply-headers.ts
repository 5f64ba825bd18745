import type { OutgoingHttpHeaders } from 'node:http';
import { ApiError } from '../core/errors.ts';
import type { KeyOwner } from './request-headers.ts';

export type ReplyHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

const MAX_HEADERS = 40;
const MAX_VALUE_CHARACTERS = 256;
/** Has no hyphen at the end because of Mistral's `x-ratelimitbysize-…`. */
const LIMITS = /^(?:x-)?ratelimit/;
const PASSED_ON = new RegExp(`^retry-after(?:-ms)?$|${LIMITS.source}`);

/** Returns those that the caller gets: the time of a retry, the rate limits, the request id. */
export function passedOnHeaders(headers: ReplyHeaders): Record<string, string> {
  const passedOn: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (PASSED_ON.test(name) && Object.keys(passedOn).length < MAX_HEADERS) setHeader(passedOn, name, value);
  }
  return { ...passedOn, ...requestIdOf(headers) };
}

/** Returns the backend's request id as `x-upstream-request-id`: `x-request-id` is the gateway's. */
function requestIdOf(headers: ReplyHeaders): Readonly<Record<string, string>> {
  const header: Record<string, string> = {};
  setHeader(header, 'x-upstream-request-id', headers['x-request-id']);
  return header;
}

/** Returns the headers without the rate limits, which are those of the account at the backend. */
export function withoutLimits(headers: ReplyHeaders): ReplyHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !LIMITS.test(name)));
}

/** These concern one connection (RFC 9110) or the backend's host, or send the client elsewhere. */
const OF_BACKEND_ALONE =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|set-cookie2?|location|refresh|link|alt-svc|strict-transport-security|clear-site-data|nel|report-to|access-control-.*|content-security-policy.*|cross-origin-.*|permissions-policy|referrer-policy|x-content-type-options|x-frame-options|date|server|x-powered-by|x-request-id|x-upstream-request-id)$/;

/** A client needs these to read and cache a reply; others may reveal the account and network. */
const OF_REPLY =
  /^(?:content-(?:type|encoding|length|language|range)|accept-ranges|cache-control|expires|etag|last-modified|x-accel-buffering|x-should-retry)$/;

/**
 * Returns the headers of a reply that is passed on: an allow-list with the gateway's own key, and all but a few otherwise.
 */
export function towardsClient(headers: ReplyHeaders, keyOwner: KeyOwner): OutgoingHttpHeaders {
  const named = new Set(
    String(headers['connection'] ?? '')
      .split(',')
      .map((name) => name.trim().toLowerCase()),
  );
  const isForCaller = (name: string): boolean =>
    keyOwner === 'gateway' ? OF_REPLY.test(name) || PASSED_ON.test(name) : !OF_BACKEND_ALONE.test(name);
  const passedOn: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || !isForCaller(name) || named.has(name)) continue;
    passedOn[name] = typeof value === 'string' ? value : [...value];
  }
  return { ...passedOn, ...requestIdOf(headers) };
}

/** Returns how long a failure asks to wait, in milliseconds (RFC 9110, section 10.2.3). */
export function retryAfterMsOf(thrown: unknown): number | undefined {
  if (!(thrown instanceof ApiError)) return undefined;
  const { 'retry-after-ms': ms, 'retry-after': text } = thrown.headers;
  if (ms !== undefined && /^\d{1,12}(?:\.\d+)?$/.test(ms)) return Number(ms);
  if (text === undefined) return undefined;
  const afterMs = /^\d{1,9}(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(afterMs) ? undefined : Math.max(0, afterMs);
}

function setHeader(target: Record<string, string>, name: string, value: string | readonly string[] | undefined): void {
  if (value === undefined) return;
  const text = typeof value === 'string' ? value : value.join(', ');
  // Only printable ASCII, so that nothing in it ends a header or a log line.
  const safe = text
    .replaceAll(/[^\x20-\x7e]/g, '')
    .trim()
    .slice(0, MAX_VALUE_CHARACTERS);
  if (safe !== '') target[name] = safe;
}
