import { ApiError } from '../../core/errors.ts';
import { parseUtc } from '../../core/time.ts';

/** Returns Unix time in milliseconds. Throws ApiError for a text that is no time. */
export function readTime(name: string, text: unknown): number | undefined {
  if (text === undefined) return undefined;
  // A plus sign, as in other time zones, would be a space in a query.
  const ms = typeof text !== 'string' ? undefined : /^\d{1,10}$/.test(text) ? Number(text) * 1000 : parseUtc(text);
  if (ms !== undefined) return ms;
  throw invalidQuery(
    name,
    `${name} must be Unix time in seconds, or a UTC time such as 2026-03-01 or 2026-03-01T12:30Z.`,
  );
}

/** Returns how many entries a list has at most. Throws ApiError for what is no number from 1 to 100. */
export function readLimit(query: Readonly<Record<string, unknown>>): number {
  const { limit = '20' } = query;
  if (typeof limit === 'string' && /^\d{1,3}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= 100)
    return Number(limit);
  throw invalidQuery('limit', 'limit must be a whole number from 1 to 100.');
}

/** Returns a parameter. Throws ApiError when it is given twice. */
export function readText(name: string, query: Readonly<Record<string, unknown>>): string | undefined {
  const value = query[name];
  if (value === undefined || typeof value === 'string') return value;
  throw invalidQuery(name, `${name} must be given once.`);
}

/** Returns the error of a query whose parameter `param` is wrong. */
export function invalidQuery(param: string, message: string): ApiError {
  return new ApiError('invalid_request', { param, message });
}
