import type { AccountId } from '../../contract/ids.ts';
import { MINUTE_MS } from '../time.ts';
import type { RateLimits } from './limits.ts';

/** The minutes are counted from 1970. */
export interface RateCounts {
  readonly minute: number;
  readonly minuteRequests: number;
  readonly minuteTokens: number;
}

/** All processes on one database share this. The clock is that of the database where it has one. */
export interface RateStanding extends RateLimits {
  readonly minute: number;
  readonly requests: number;
  readonly tokens: number;
  readonly resetMs: number;
  /** The group that was counted as well, and which of the limits are its own. */
  readonly group?: { readonly id: AccountId; readonly limits: readonly RateKind[] };
}

export type RateKind = 'requests' | 'tokens';

/** What is added to the tokens of a minute, once it is known how many were used. May be negative. */
export interface RateCorrection {
  readonly minute: number;
  readonly tokens: number;
}

const MAX = Number.MAX_SAFE_INTEGER;

/**
 * Returns the counts at a moment. Calls overtake each other, so a moment that is a little earlier
 * belongs to the minute that has begun since.
 */
export function countsAt(counts: RateCounts, atMs: number): RateCounts {
  const minute = Math.floor(atMs / MINUTE_MS);
  const isRunning = counts.minute === minute || counts.minute === minute + 1;
  return isRunning ? counts : { minute, minuteRequests: 0, minuteTokens: 0 };
}

/** Returns how a key stands at a moment; null when it has no such limits. */
export function standingOf(key: RateCounts & RateLimits, atMs: number): RateStanding | null {
  const { requestsPerMinute, tokensPerMinute } = key;
  if (requestsPerMinute === null && tokensPerMinute === null) return null;
  const { minute, minuteRequests, minuteTokens } = countsAt(key, atMs);
  const resetMs = (minute + 1) * MINUTE_MS - atMs;
  return { minute, requests: minuteRequests, tokens: minuteTokens, requestsPerMinute, tokensPerMinute, resetMs };
}

/** Returns of each limit the one with less room, that of the key or that of its group. */
export function tighterOf(key: RateStanding | null, group: RateStanding | null, id: AccountId): RateStanding | null {
  const base = key ?? group;
  if (base === null) return null;
  const limits = RATE_KINDS.filter((kind) => roomOf(group, kind) < roomOf(key, kind));
  const from = (kind: RateKind): RateStanding => (limits.includes(kind) ? (group ?? base) : base);
  return {
    ...base,
    requests: from('requests').requests,
    requestsPerMinute: from('requests').requestsPerMinute,
    tokens: from('tokens').tokens,
    tokensPerMinute: from('tokens').tokensPerMinute,
    group: { id, limits },
  };
}

const RATE_KINDS = ['requests', 'tokens'] as const satisfies readonly RateKind[];

function roomOf(standing: RateStanding | null, kind: RateKind): number {
  const limit = standing?.[`${kind}PerMinute`] ?? null;
  return standing === null || limit === null ? Infinity : limit - standing[kind];
}

/**
 * Returns the limit that has no room for one more request. Without tokens of its own, a request is
 * not held up by the tokens that others have used in advance.
 */
export function exceededBy(
  tokens: number,
  { requestsPerMinute, tokensPerMinute }: RateLimits,
  used: Omit<RateCounts, 'minute'>,
): RateKind | undefined {
  if (requestsPerMinute !== null && used.minuteRequests >= requestsPerMinute) return 'requests';
  if (tokensPerMinute !== null && tokens > 0 && tokens > tokensPerMinute - used.minuteTokens) return 'tokens';
  return undefined;
}

/** Returns the counts with one more request. */
export function countRequest(counts: RateCounts, tokens: number): RateCounts {
  const { minute, minuteRequests, minuteTokens } = counts;
  return { minute, minuteRequests: minuteRequests + 1, minuteTokens: Math.min(minuteTokens + tokens, MAX) };
}

/** Returns the corrected counts; undefined when the minute is over. */
export function correctTokens(counts: RateCounts, { minute, tokens }: RateCorrection): RateCounts | undefined {
  if (counts.minute !== minute) return undefined;
  return { ...counts, minuteTokens: Math.min(Math.max(counts.minuteTokens + tokens, 0), MAX) };
}
