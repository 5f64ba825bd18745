/** What a key has used of its requests and tokens per minute: arithmetic alone, the same for every engine. */
export interface RateLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
}

/** What was taken in the latest minute in which anything was. The minutes are those of the clock, counted from 1970. */
export interface RateCounts {
  readonly minute: number;
  readonly minuteRequests: number;
  readonly minuteTokens: number;
}

/**
 * A key with limits per minute in the running minute, as all processes on one database share it.
 * The clock is that of the database where it has one, so the clocks of gateways need not agree.
 */
export interface RateStanding extends RateLimits {
  /** Counted from 1970. */
  readonly minute: number;
  /** Used in this minute. */
  readonly requests: number;
  readonly tokens: number;
  /** The time until the counts begin at 0 again. */
  readonly resetMs: number;
}

const MINUTE_MS = 60_000;
const MAX = Number.MAX_SAFE_INTEGER;

/**
 * The counts in the minute of a moment. Calls overtake each other, so that a moment which is a little earlier belongs to the
 * minute that has begun since; a clock that was set back for longer holds nobody up.
 */
export function countsAt(counts: RateCounts, atMs: number): RateCounts {
  const minute = Math.floor(atMs / MINUTE_MS);
  const isRunning = counts.minute === minute || counts.minute === minute + 1;
  return isRunning ? counts : { minute, minuteRequests: 0, minuteTokens: 0 };
}

/** How a key stands at a moment; null when it has no such limits. */
export function standingOf(key: RateCounts & RateLimits, atMs: number): RateStanding | null {
  const { requestsPerMinute, tokensPerMinute } = key;
  if (requestsPerMinute === null && tokensPerMinute === null) return null;
  const { minute, minuteRequests, minuteTokens } = countsAt(key, atMs);
  const resetMs = (minute + 1) * MINUTE_MS - atMs;
  return { minute, requests: minuteRequests, tokens: minuteTokens, requestsPerMinute, tokensPerMinute, resetMs };
}

/**
 * Which limit has no room for one more request that needs so many tokens; undefined when there is room. One that needs none
 * is not held up by tokens that others have used in advance.
 */
export function exceededBy(
  tokens: number,
  { requestsPerMinute, tokensPerMinute }: RateLimits,
  used: Omit<RateCounts, 'minute'>,
): 'requests' | 'tokens' | undefined {
  if (requestsPerMinute !== null && used.minuteRequests >= requestsPerMinute) return 'requests';
  if (tokensPerMinute !== null && tokens > 0 && tokens > tokensPerMinute - used.minuteTokens) return 'tokens';
  return undefined;
}

/** The counts with one more request, which was not refused. */
export function countRequest(counts: RateCounts, tokens: number): RateCounts {
  const { minute, minuteRequests, minuteTokens } = counts;
  return { minute, minuteRequests: minuteRequests + 1, minuteTokens: Math.min(minuteTokens + tokens, MAX) };
}

/** The counts with so many tokens more, or fewer, in a minute that still runs; undefined when it is over. */
export function correctTokens(counts: RateCounts, minute: number, tokens: number): RateCounts | undefined {
  if (counts.minute !== minute) return undefined;
  return { ...counts, minuteTokens: Math.min(Math.max(counts.minuteTokens + tokens, 0), MAX) };
}
