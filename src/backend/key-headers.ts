import type { Dialect } from '../core/dialects.ts';

/** Returns the header that carries the key to the backend. A token of Entra ID is always a bearer. */
export function keyHeaders(key: string, { keyHeader }: Pick<Dialect, 'keyHeader'>): Readonly<Record<string, string>> {
  const isToken = key.startsWith('eyJ');
  return keyHeader === 'api-key' && !isToken ? { 'api-key': key } : { authorization: `Bearer ${key}` };
}

/**
 * Returns the headers with the key that this backend wants: the gateway's own, or that of the caller,
 * which comes as a bearer.
 */
export function withKey(
  headers: Readonly<Record<string, string>>,
  { apiKey, dialect }: { readonly apiKey: string | null; readonly dialect: Pick<Dialect, 'keyHeader'> },
): Readonly<Record<string, string>> {
  if (apiKey !== null) return { ...headers, ...keyHeaders(apiKey, dialect) };
  const { authorization, ...rest } = headers;
  if (dialect.keyHeader === 'authorization' || authorization === undefined) return headers;
  return { ...rest, ...keyHeaders(authorization.replace(/^Bearer /, ''), dialect) };
}
