import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { RateLimitedKey, RateLimits } from '../../accounts/rates.ts';
import { ERRORS, toApiError } from '../../core/errors.ts';
import type { RequestFacts } from '../../requests/facts.ts';
import { factsOf } from '../../telemetry/reply-facts.ts';
import { callerOf } from './authenticate.ts';

/**
 * Refuses a key whose minute has no request left, or fewer than `tokens`, before its body is read.
 * Counts the requests whose body was read for nothing.
 */
export function limitRate(rateLimits: RateLimits | undefined, { tokens }: { readonly tokens: number }): RequestHandler {
  return (req, res, next) => {
    const { key } = callerOf(res);
    if (key !== undefined && rateLimits !== undefined) {
      // A duplicate is answered at any time, and only the body shows that it is one.
      if (req.headers['idempotency-key'] === undefined) rateLimits.check(key, tokens);
      res.once('close', () => {
        const status = res.headersSent ? res.statusCode : ERRORS.client_disconnected.status;
        if (isUncounted(status, factsOf(res))) rateLimits.takeRefused(key);
      });
    }
    next();
  };
}

/** Tells a key at its limit so where `limitRate` did not, because the request could be a duplicate. */
export function tellLimit(rateLimits: RateLimits | undefined): ErrorRequestHandler {
  return (thrown, req, res, next) => {
    const { key } = callerOf(res);
    const isLate = key !== undefined && req.headers['idempotency-key'] !== undefined;
    next(isLate ? limitOr(thrown, key, rateLimits) : thrown);
  };
}

/** Returns what to throw: the refusal of a key at its limit in the place of one for shape or funds. */
export function limitOr(thrown: unknown, key: RateLimitedKey, rateLimits: RateLimits | undefined): unknown {
  if (!isRefused(toApiError(thrown).status)) return thrown;
  try {
    rateLimits?.check(key, 0);
    return thrown;
  } catch (refusal) {
    return refusal;
  }
}

/** Whether a request ended before the store counted it in the minute of its key, and after its body was read. */
export function isUncounted(
  status: number,
  { backend, model, errorCode }: Pick<RequestFacts, 'backend' | 'model' | 'errorCode'>,
): boolean {
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
  return status >= 400 && status < 500 && !OTHERS.has(status);
}

const OTHERS = new Set([401, 409, 429, 499]);
