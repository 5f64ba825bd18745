import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { KeyOwner } from '../../backend/failures.ts';
import { isPassedOn, requestIdOf, type ReplyHeaders } from '../../backend/reply-headers.ts';

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

/** Returns the allowed headers of a request that is passed on, and the key for the backend. */
export function towardsBackend(
  headers: IncomingHttpHeaders,
  { backendHeaders, body }: { readonly backendHeaders: Readonly<Record<string, string>>; readonly body?: Buffer },
): IncomingHttpHeaders {
  const passedOn: IncomingHttpHeaders = {};
  const ofBody = body === undefined ? ['content-type', 'content-length', 'content-encoding'] : ['content-type'];
  for (const name of [...WISHES, ...ofBody]) if (headers[name] !== undefined) passedOn[name] = headers[name];
  if (body !== undefined) passedOn['content-length'] = String(body.length);
  // A compressor holds events back until it has enough of them, and errors are read here.
  return { ...passedOn, 'accept-encoding': 'identity', ...backendHeaders };
}

/** These concern one connection (RFC 9110) or the backend's host, or send the client elsewhere. */
const OF_BACKEND_ALONE =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|set-cookie2?|location|refresh|link|alt-svc|strict-transport-security|clear-site-data|nel|report-to|access-control-.*|content-security-policy.*|cross-origin-.*|permissions-policy|referrer-policy|x-content-type-options|x-frame-options|date|server|x-powered-by|x-request-id|x-upstream-request-id)$/;

/** A client needs these to read and cache a reply; others may reveal the account and network. */
const OF_REPLY =
  /^(?:content-(?:type|encoding|length|language|range)|accept-ranges|cache-control|expires|etag|last-modified|x-accel-buffering|x-should-retry)$/;

/** Returns an allow-list of headers with the gateway's own key, and all but a few otherwise. */
export function towardsClient(headers: ReplyHeaders, keyOwner: KeyOwner): OutgoingHttpHeaders {
  const named = new Set(
    String(headers['connection'] ?? '')
      .split(',')
      .map((name) => name.trim().toLowerCase()),
  );
  const isForCaller = keyOwner === 'gateway' ? isForAnyCaller : (name: string) => !OF_BACKEND_ALONE.test(name);
  const passedOn: OutgoingHttpHeaders = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || !isForCaller(name) || named.has(name)) continue;
    passedOn[name] = typeof value === 'string' ? value : [...value];
  }
  return { ...passedOn, ...requestIdOf(headers) };
}

function isForAnyCaller(name: string): boolean {
  return OF_REPLY.test(name) || isPassedOn(name);
}
