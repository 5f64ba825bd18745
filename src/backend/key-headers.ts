import type { Dialect } from '../core/dialects.ts';

/** Returns the header that carries the key to the backend. A token of Entra ID is always a bearer. */
export function keyHeaders(key: string, { keyHeader }: Pick<Dialect, 'keyHeader'>): Readonly<Record<string, string>> {
  const isToken = key.startsWith('eyJ');
  return keyHeader === 'api-key' && !isToken ? { 'api-key': key } : { authorization: `Bearer ${key}` };
}
