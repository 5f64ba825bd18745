import { ApiError } from '../../core/errors.ts';

/** A plus sign, as in other time zones, would be a space in a query. */
const TIME = /^(?:(?<seconds>\d{1,10})|\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z)?)$/;

/** Returns Unix time in milliseconds. Throws ApiError for a text that is no time. */
export function readTime(name: string, text: unknown): number | undefined {
  if (text === undefined) return undefined;
  const found = typeof text === 'string' ? TIME.exec(text) : null;
  const seconds = found?.groups?.['seconds'];
  if (seconds !== undefined) return Number(seconds) * 1000;
  const ms = found === null ? NaN : Date.parse(found[0]);
  // A thirtieth of February is taken for a day in March.
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(found?.[0].replace('Z', '') ?? '')) {
    throw invalidQuery(
      name,
      `${name} must be Unix time in seconds, or a UTC time such as 2026-03-01 or 2026-03-01T12:30Z.`,
    );
  }
  return ms;
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
