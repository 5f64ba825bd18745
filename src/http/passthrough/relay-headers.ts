import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { KeyOwner } from '../../backend/failures.ts';
import { isPassedOn, passedOnHeaders, type ReplyHeaders } from '../../backend/reply-headers.ts';

/** What describes the body, what the caller wants, and nothing that says who or where it is. Cookies never. */
const TOWARDS_BACKEND = ['accept', 'content-type', 'openai-beta', 'user-agent'];

/** What a client says of itself and of what it wants, for a request whose body has been read. */
export function wishesOf(headers: IncomingHttpHeaders): Record<string, string> {
  const wishes: Record<string, string> = {};
  for (const name of ['accept', 'openai-beta', 'user-agent']) {
    const value = headers[name];
    if (typeof value === 'string') wishes[name] = value;
  }
  return wishes;
}

/** The headers of a passed on request: an allow-list, and the key that the backend is to see. */
export function towardsBackend(
  headers: IncomingHttpHeaders,
  { backendHeaders, body }: { readonly backendHeaders: Readonly<Record<string, string>>; readonly body?: Buffer },
): IncomingHttpHeaders {
  const passedOn: IncomingHttpHeaders = {};
  const names = body === undefined ? [...TOWARDS_BACKEND, 'content-length', 'content-encoding'] : TOWARDS_BACKEND;
  for (const name of names) if (headers[name] !== undefined) passedOn[name] = headers[name];
  if (body !== undefined) passedOn['content-length'] = String(body.length);
  // Compressed events may wait in a compressor until there are enough of them, and errors are read here.
  return { ...passedOn, 'accept-encoding': 'identity', ...backendHeaders };
}

/**
 * Those of one connection alone (RFC 9110), those which speak for the host they came from and not
 * for this one, and those which send the client elsewhere.
 */
const OF_BACKEND_ALONE =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|set-cookie2?|location|refresh|link|alt-svc|strict-transport-security|clear-site-data|nel|report-to|access-control-.*|content-security-policy.*|cross-origin-.*|permissions-policy|referrer-policy|x-content-type-options|x-frame-options|date|server|x-powered-by|x-request-id|x-upstream-request-id)$/;

/** What it takes to read a reply and to keep it. Others may tell of our account and network. */
const OF_REPLY =
  /^(?:content-(?:type|encoding|length|language|range)|accept-ranges|cache-control|expires|etag|last-modified|x-accel-buffering|x-should-retry)$/;

/**
 * The headers of the backend's reply that its caller gets: those of a list where the backend sees
 * the gateway's own key, else all but a few. The backend's request id goes by another name, since
 * ours has that one.
 */
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
  const id = passedOnHeaders({ 'x-request-id': headers['x-request-id'] })['x-upstream-request-id'];
  return id === undefined ? passedOn : { ...passedOn, 'x-upstream-request-id': id };
}

function isForAnyCaller(name: string): boolean {
  return OF_REPLY.test(name) || isPassedOn(name);
}
