import { ApiError } from '../core/errors.ts';

/**
 * Returns the key, bare or as a quoted string (draft-ietf-httpapi-idempotency-key-header, 2.1).
 * Throws ApiError `invalid_idempotency_key` that names the header or field `name`.
 */
export function parseIdempotencyKey(
  header: string | string[] | undefined,
  name = 'Idempotency-Key',
): string | undefined {
  if (header === undefined) return undefined;
  const text = typeof header === 'string' ? header.trim() : '';
  const key = /^"(?:[^"\\]|\\["\\])*"$/.test(text) ? text.slice(1, -1).replaceAll(/\\(["\\])/g, '$1') : text;
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new ApiError('invalid_idempotency_key', {
    param: name,
    message: `${name} must have 1 to 255 printable ASCII characters.`,
  });
}
