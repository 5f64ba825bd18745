import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { RateLimitedKey, RateLimits } from '../accounts/rates.ts';
import { ERRORS, toApiError, type ErrorCode } from '../core/errors.ts';
import type { RequestFacts } from '../telemetry/facts.ts';
import { factsOf } from '../telemetry/reply-facts.ts';
import { callerOf } from './authenticate.ts';
import { onceServed } from '../wire/until-served.ts';

/**
 * Refuses a key whose minute has no request left, or fewer than `tokens`, before its body is read.
 * Counts the requests whose body was read for nothing.
 */
export function limitRate(rateLimits: RateLimits | undefined, { tokens }: { readonly tokens: number }): RequestHandler {
  return (req, res, next) => {
    const { key } = callerOf(res);
    if (key !== undefined && rateLimits !== undefined) {
      // A duplicate is answered at any time, and only the body shows that it is one.
      const mayRepeat = req.headers['idempotency-key'] !== undefined;
      if (mayRepeat) rateLimits.checkRepeats(key);
      else rateLimits.check(key, tokens);
      onceServed(res, () => {
        const status = res.headersSent ? res.statusCode : ERRORS.client_disconnected.status;
        countEnd(rateLimits, key, { status, mayRepeat, facts: factsOf(res) });
      });
    }
    next();
  };
}

/** Tells a key at its limit so where `limitRate` did not, because the request could be a duplicate. */
export function refuseAtLimit(rateLimits: RateLimits | undefined): ErrorRequestHandler {
  return (thrown, req, res, next) => {
    const { key } = callerOf(res);
    const isLate = key !== undefined && req.headers['idempotency-key'] !== undefined;
    next(isLate ? limitOr(thrown, key, { rateLimits, facts: factsOf(res) }) : thrown);
  };
}

interface Refused {
  readonly rateLimits: RateLimits | undefined;
  readonly facts: Pick<RequestFacts, 'backend'>;
}

/**
 * Returns what to throw: the refusal of a key at its limit in the place of one for shape or funds. What
 * the backend was asked for has a record, and is told as that says.
 */
export function limitOr(thrown: unknown, key: RateLimitedKey, { rateLimits, facts }: Refused): unknown {
  if (facts.backend !== 'not asked' || !isRefused(toApiError(thrown).status)) return thrown;
  try {
    rateLimits?.check(key, 0);
    return thrown;
  } catch (refusal) {
    return refusal;
  }
}

export interface RequestToCount {
  readonly status: number;
  readonly mayRepeat: boolean;
  readonly facts: Pick<RequestFacts, 'backend' | 'model' | 'errorCode'>;
}

/** Counts a request whose body was read, and which the store has not counted in the minute of its key. */
export function countEnd(
  rateLimits: RateLimits,
  key: RateLimitedKey,
  { status, mayRepeat, facts }: RequestToCount,
): void {
  if (isUncounted(status, facts)) rateLimits.takeRefused(key);
  if (mayRepeat && REPEATS.has(facts.errorCode)) rateLimits.countRepeat(key);
}

/** A duplicate may have any status that the operator likes. */
const REPEATS: ReadonlySet<ErrorCode | undefined> = new Set(['duplicate_request', 'rate_limit_exceeded'] as const);

function isUncounted(status: number, { backend, model, errorCode }: RequestToCount['facts']): boolean {
  if (backend !== 'not asked') return false;
  switch (status) {
    case ERRORS.client_disconnected.status:
      // With a model the store counts it, though the client has left.
      return model === undefined;
    case ERRORS.rate_limit_exceeded.status:
      // Without tokens for it; the shares of the gateway refuse with another code.
      return model !== undefined && errorCode === 'rate_limit_exceeded';
    default:
      return isRefused(status);
  }
}

function isRefused(status: number): boolean {
  return status >= 400 && status < 500 && !COUNTED_OTHERWISE.has(status);
}

const COUNTED_OTHERWISE = new Set([401, 409, 429, 499]);
