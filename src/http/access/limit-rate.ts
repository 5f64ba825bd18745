import type { RequestHandler } from 'express';
import type { RateLimits } from '../../accounts/rates.ts';
import type { RequestFacts } from '../../requests/facts.ts';
import { factsOf } from '../../telemetry/reply-facts.ts';
import { callerOf } from './authenticate.ts';

/**
 * Refuses a key whose minute is used up before its body is read, and counts what is refused for its
 * shape or for its funds.
 */
export function limitRate(rateLimits: RateLimits | undefined): RequestHandler {
  return (req, res, next) => {
    const { key } = callerOf(res);
    if (key !== undefined && rateLimits !== undefined) {
      // A duplicate is answered at any time, and only the body shows that it is one.
      if (req.headers['idempotency-key'] === undefined) rateLimits.check(key, 0);
      res.once('close', () => {
        if (isUncounted(res.statusCode, factsOf(res).backend)) rateLimits.takeRefused(key);
      });
    }
    next();
  };
}

/** Whether a request was refused before the store counted it in the minute of its key. */
export function isUncounted(status: number, backend: RequestFacts['backend']): boolean {
  return backend === 'not asked' && status >= 400 && status < 500 && !COUNTED.has(status);
}

const COUNTED = new Set([401, 409, 429, 499]);
