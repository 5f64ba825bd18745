import { ApiError } from '../core/errors.ts';

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
    if (isPassedOn(name) && Object.keys(passedOn).length < MAX_HEADERS) setHeader(passedOn, name, value);
  }
  return { ...passedOn, ...requestIdOf(headers) };
}

/** Returns the backend's request id as `x-upstream-request-id`: `x-request-id` is the gateway's. */
export function requestIdOf(headers: ReplyHeaders): Readonly<Record<string, string>> {
  const header: Record<string, string> = {};
  setHeader(header, 'x-upstream-request-id', headers['x-request-id']);
  return header;
}

/** Returns whether a header is about the time of a retry or about rate limits. */
export function isPassedOn(name: string): boolean {
  return PASSED_ON.test(name);
}

/** Returns the headers without the rate limits, which are those of the account at the backend. */
export function withoutLimits(headers: ReplyHeaders): ReplyHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !LIMITS.test(name)));
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
