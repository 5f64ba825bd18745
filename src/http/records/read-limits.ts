import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { ApiError } from '../../core/errors.ts';
import { callerOf } from '../access/authenticate.ts';

export interface ReadLimits {
  /** Counts a read in the minute of its caller. */
  readonly limitReads: RequestHandler;
  /** Lets few lists and sums of a caller run at once. */
  readonly limitLists: RequestHandler;
  /** As `limitLists`, but not for the lookup of one record by its `Idempotency-Key`. */
  readonly limitListsOfRecords: RequestHandler;
}

const MINUTE_MS = 60_000;
const READS_PER_MINUTE = 600;
/** Clients poll each of their requests a few times. */
const READS_PER_REQUEST = 10;
const LISTS_AT_ONCE = 2;

/**
 * Returns the limits of this process. Reading takes nothing from the requests of a key. Strangers of
 * one network count as one, since each of them can make up as many keys as it likes.
 */
export function createReadLimits({ nowMs }: { readonly nowMs: () => number }): ReadLimits {
  const reads = new Map<string, number>();
  const lists = new Map<string, number>();
  let minute = 0;

  return {
    limitReads(_req, res, next) {
      const { holder, key } = callerOf(res);
      const { name } = holder();
      const atMs = nowMs();
      const now = Math.floor(atMs / MINUTE_MS);
      if (now !== minute) reads.clear();
      minute = now;
      const count = (reads.get(name) ?? 0) + 1;
      const limit = Math.max(READS_PER_MINUTE, READS_PER_REQUEST * (key?.limits.requestsPerMinute ?? 0));
      if (count > limit) {
        const seconds = Math.ceil(((now + 1) * MINUTE_MS - atMs) / 1000);
        throw refusal(`The API key may do this ${limit} times a minute. Try again in ${seconds} s.`, seconds);
      }
      reads.set(name, count);
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
      throw refusal(`The API key has ${LISTS_AT_ONCE} lists running. Try again when one has ended.`, 1);
    }
    lists.set(name, running + 1);
    res.once('close', () => {
      const left = (lists.get(name) ?? 1) - 1;
      if (left === 0) lists.delete(name);
      else lists.set(name, left);
    });
    next();
  }
}

function refusal(message: string, seconds: number): ApiError {
  return new ApiError('rate_limit_exceeded', { message, headers: { 'retry-after': String(seconds) } });
}
