import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { createReads } from '../../accounts/reads.ts';
import { ApiError } from '../../core/errors.ts';
import { callerOf } from '../../access/authenticate.ts';
import { onceServed } from '../../wire/until-served.ts';

export interface ReadLimits {
  /** Counts a read in the minute of its caller. */
  readonly limitReads: RequestHandler;
  /** Lets few lists and sums of a caller run at once. */
  readonly limitLists: RequestHandler;
  /** As `limitLists`, but not for the lookup of one record by its `Idempotency-Key`. */
  readonly limitListsOfRecords: RequestHandler;
}

const LISTS_AT_ONCE = 2;

/**
 * Returns the limits of this process. Reading takes nothing from the requests of a key. Strangers of
 * one network count as one, since each of them can make up as many keys as it likes.
 */
export function createReadLimits({ nowMs }: { readonly nowMs: () => number }): ReadLimits {
  const reads = createReads({ nowMs });
  const lists = new Map<string, number>();

  return {
    limitReads(_req, res, next) {
      const { holder, key } = callerOf(res);
      const { name } = holder();
      reads.check(name, key?.limits.requestsPerMinute);
      reads.count(name);
      next();
    },
    limitLists,
    limitListsOfRecords(req, res, next) {
      if (req.headers['idempotency-key'] === undefined) limitLists(req, res, next);
      else next();
    },
  };

  function limitLists(_req: Request, res: Response, next: NextFunction): void {
    const { name } = callerOf(res).holder();
    const running = lists.get(name) ?? 0;
    if (running >= LISTS_AT_ONCE) {
      throw new ApiError('rate_limit_exceeded', {
        message: `The API key has ${LISTS_AT_ONCE} lists running. Try again when one has ended.`,
        headers: { 'retry-after': '1' },
      });
    }
    lists.set(name, running + 1);
    onceServed(res, () => {
      const left = (lists.get(name) ?? 1) - 1;
      if (left === 0) lists.delete(name);
      else lists.set(name, left);
    });
    next();
  }
}
