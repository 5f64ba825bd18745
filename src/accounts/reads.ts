import { ApiError } from '../core/errors.ts';
import { MINUTE_MS } from '../core/time.ts';

/** What is read in the present minute, by name. Each process counts for itself. */
export interface Reads {
  /** Throws ApiError `rate_limit_exceeded` when the minute of this name is used up. */
  check(name: string, requestsPerMinute: number | null | undefined): void;
  count(name: string): void;
}

const READS_PER_MINUTE = 600;
/** Clients poll each of their requests a few times. */
const READS_PER_REQUEST = 10;

/** Begins with nothing read. `what` stands in the refusal. */
export function createReads({
  what = 'do this',
  nowMs,
}: {
  readonly what?: string;
  readonly nowMs: () => number;
}): Reads {
  const counts = new Map<string, number>();
  let minute = 0;

  /** Returns the milliseconds to its end. */
  function beginMinute(): number {
    const atMs = nowMs();
    const now = Math.floor(atMs / MINUTE_MS);
    if (now !== minute) counts.clear();
    minute = now;
    return (now + 1) * MINUTE_MS - atMs;
  }

  return {
    check(name, requestsPerMinute) {
      const seconds = Math.ceil(beginMinute() / 1000);
      const limit = Math.max(READS_PER_MINUTE, READS_PER_REQUEST * (requestsPerMinute ?? 0));
      if ((counts.get(name) ?? 0) < limit) return;
      const message = `The API key may ${what} ${limit} times a minute. Try again in ${seconds} s.`;
      throw new ApiError('rate_limit_exceeded', { message, headers: { 'retry-after': String(seconds) } });
    },
    count(name) {
      beginMinute();
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
  };
}
