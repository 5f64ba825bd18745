/** Keeps the key of the gateway, with which a backend was asked, out of what callers get of its answer. */

import { bufferOf } from '../core/collected-bytes.ts';
import { NO_BYTES, type ByteFilter } from './byte-filter.ts';
import type { ReplyHeaders } from './reply-headers.ts';
import type { KeyOwner } from './request-headers.ts';

/** A shorter key can be guessed, and may be a word of an answer: many servers take `ollama`. */
const SAFE_LENGTH = 16;
const LF = 0x0a;

/** Returns what must not come back of the headers of a request. */
export function secretsOf(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers)
    .filter(([name]) => /auth|cookie|credential|key|passw|secret|token/i.test(name))
    .map(([, value]) => value.replace(/^(?:basic|bearer)\s+/i, ''))
    .filter((secret) => secret !== '');
}

/** As `secretsOf`, where the key is not that of the caller. */
export function ownSecretsOf(
  headers: Readonly<Record<string, string>>,
  { keyOwner }: { readonly keyOwner: KeyOwner },
): readonly string[] {
  return keyOwner === 'gateway' ? secretsOf(headers) : [];
}

/** Whether the bytes have one of the secrets in them, also as a JSON string may spell it. */
export function quotes(bytes: Buffer, secrets: readonly string[]): boolean {
  if (secrets.some((secret) => bytes.includes(secret))) return true;
  const text = bytes
    .toString()
    .replaceAll(ESCAPE, (_, code: string) => String.fromCharCode(parseInt(code || '2f', 16)));
  return secrets.some((secret) => text.includes(secret));
}

/** Some servers escape a slash, and what has a meaning in HTML. */
const ESCAPE = /\\(?:u([\da-f]{4})|\/)/gi;

/**
 * Returns what puts as many stars in the place of each secret. It takes 0.3 µs for each event of a
 * stream. Returns undefined if there is nothing to look for.
 */
export function createKeyFilter(secrets: readonly string[]): ByteFilter | undefined {
  const keys = secrets.filter(isSafe).map((secret) => Buffer.from(secret));
  if (keys.length === 0) return undefined;
  /** It may be the beginning of a secret. */
  let buffered = NO_BYTES;

  return {
    feed(bytes) {
      const all = buffered.length === 0 ? bufferOf(bytes) : Buffer.concat([buffered, bytes]);
      for (const key of keys) hide(all, key);
      // No secret has a line end, and nearly every read of a stream ends with one.
      const end = all.at(-1) === LF ? all.length : Math.min(...keys.map((key) => beginningIn(all, key)));
      buffered = all.subarray(end);
      return all.subarray(0, end);
    },
    end: () => buffered,
  };
}

/** Returns the headers without those that quote one of the secrets. */
export function withoutSecrets(headers: ReplyHeaders, secrets: readonly string[]): ReplyHeaders {
  const safe = secrets.filter(isSafe);
  const isQuoted = (value: unknown): boolean => safe.some((secret) => String(value).includes(secret));
  const quoting = Object.entries(headers).filter(([, value]) => isQuoted(value));
  if (quoting.length === 0) return headers;
  return { ...headers, ...Object.fromEntries(quoting.map(([name]) => [name, undefined])) };
}

function isSafe(secret: string): boolean {
  return secret.length >= SAFE_LENGTH;
}

function hide(bytes: Buffer, key: Buffer): void {
  for (let at = bytes.indexOf(key); at !== -1; at = bytes.indexOf(key, at)) bytes.fill('*', at, at + key.length);
}

/** Returns where the bytes end with the beginning of the key; their length if they do not. */
function beginningIn(bytes: Buffer, key: Buffer): number {
  const [first = 0] = key;
  let at = bytes.indexOf(first, Math.max(0, bytes.length - key.length + 1));
  while (at !== -1 && !bytes.subarray(at).equals(key.subarray(0, bytes.length - at))) at = bytes.indexOf(first, at + 1);
  return at === -1 ? bytes.length : at;
}
