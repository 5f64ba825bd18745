import { ApiError, isErrorCode } from '../core/errors.ts';
import type { RequestId } from '../contract/ids.ts';
import { USAGE_KEPT_DAYS, USUAL_SPAN_MS, type UsageSpan } from '../core/books/keys.ts';
import type { RecordQuery, RecordStatus } from '../core/books/store.ts';
import { given } from '../core/given.ts';
import { parseRequestId } from '../core/ids.ts';
import { DAY_MS } from '../core/time.ts';

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

/** Returns the moment of `2027-01-31` or `2027-01-31T12:00Z`; undefined for any other text, and for a day that does not exist. */
export function parseUtc(text: string): number | undefined {
  if (!/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d)?Z)?$/.test(text)) return undefined;
  const ms = Date.parse(text);
  // Date reads the 30th of February as a day in March.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.replace('Z', '')) ? ms : undefined;
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

/** Throws ApiError `request_not_found` for what is no id. */
export function readRequestId(text: string): RequestId {
  const id = parseRequestId(text);
  if (id === undefined) throw new ApiError('request_not_found');
  return id;
}

const STATUSES = new Set<unknown>(['processing', 'succeeded', 'failed', 'cancelled'] satisfies RecordStatus[]);

function isStatus(value: unknown): value is RecordStatus {
  return STATUSES.has(value);
}

/** Returns the filters of a list. Throws ApiError that names the wrong one. */
export function readRecordQuery(query: Readonly<Record<string, unknown>>): RecordQuery {
  const { after, status, error_code: errorCode } = query;
  const afterId = typeof after === 'string' ? parseRequestId(after) : undefined;
  if (after !== undefined && afterId === undefined) throw invalidQuery('after', 'after must be the id of a request.');
  if (status !== undefined && !isStatus(status)) {
    throw invalidQuery('status', 'status must be one of processing, succeeded, failed, cancelled.');
  }
  if (errorCode !== undefined && !isErrorCode(errorCode)) {
    throw invalidQuery('error_code', 'error_code must be the code of an error, such as upstream_error.');
  }
  const span = { fromMs: readTime('from', query['from']), untilMs: readTime('until', query['until']) };
  return {
    limit: readLimit(query),
    ...given({ after: afterId, status, model: readText('model', query), errorCode, ...span }),
  };
}

/** Returns the span of time that the query asks for. Throws ApiError that names the wrong parameter. */
export function readSpan(query: Readonly<Record<string, unknown>>, nowMs: number): UsageSpan {
  const { per = 'day' } = query;
  if (per !== 'hour' && per !== 'day' && per !== 'month')
    throw invalidQuery('per', 'per must be one of hour, day, month.');
  const maxDays = MAX_DAYS[per];
  const untilMs = readTime('until', query['until']) ?? nowMs;
  const fromMs = readTime('from', query['from']) ?? untilMs - USUAL_SPAN_MS[per];
  if (fromMs >= untilMs) throw invalidQuery('from', 'from must be before until.');
  if (untilMs - fromMs > maxDays * DAY_MS) {
    throw invalidQuery('from', `from must be at most ${maxDays} days before until with per=${per}.`);
  }
  return { per, fromMs, untilMs };
}

const MAX_DAYS: Readonly<Record<UsageSpan['per'], number>> = {
  hour: 31,
  day: USAGE_KEPT_DAYS,
  month: USAGE_KEPT_DAYS,
};
