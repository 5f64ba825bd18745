import { ApiError } from '../core/errors.ts';
import type { KeyId } from '../core/ids.ts';
import type { AccountStore, KeyLimits, StoredKey } from '../store/accounts.ts';

/**
 * Requests and tokens per minute (contract, section 7). The minutes are those of the clock, so that the counts can be made
 * again out of the records, and a clock that was set back holds up nobody for longer than a minute. A limit that is changed
 * holds for the next request.
 */
export interface RateLimits {
  /**
   * Takes one request, and so many tokens, out of what the key has left in this minute. Throws ApiError
   * `rate_limit_exceeded` when that is not enough; nothing is taken then.
   */
  take(key: RateLimitedKey, tokens: number): Promise<Taken>;
  /** What the key has left; each absent without such a limit. */
  show(key: RateLimitedKey): Promise<RateLimitState>;
}

export type RateLimitedKey = Pick<StoredKey, 'keyId' | 'limits'>;

export interface Taken {
  /** `x-ratelimit-*`, as OpenAI names and writes them. */
  readonly headers: Readonly<Record<string, string>>;
  /** Gives all of it back. */
  takeBack(): void;
  /** Puts the tokens which were used in the place of those that were taken. */
  correct(tokens: number): void;
}

export interface RateLimitState {
  readonly requests?: LimitState;
  readonly tokens?: LimitState;
  /** Until the counts begin anew. */
  readonly resetMs: number;
}

export interface LimitState {
  readonly limit: number;
  readonly remaining: number;
}

const WINDOW_MS = 60_000;

type Kind = 'requests' | 'tokens';

/** The limits of this process, beginning with what the records say of the running minute. */
export async function openRateLimits({
  accounts,
  nowMs,
}: {
  readonly accounts: Pick<AccountStore, 'listActivity'>;
  readonly nowMs: () => number;
}): Promise<RateLimits> {
  // Loaded here, since it takes its time and only this mode needs it.
  const { RateLimiterMemory } = await import('rate-limiter-flexible');
  // It counts, and forgets the counts of a minute when they are a minute old. What is too much differs from key to key.
  const counter = new RateLimiterMemory({ points: Number.MAX_SAFE_INTEGER, duration: WINDOW_MS / 1000 });

  const first = windowOf(nowMs());
  for (const { keyId, requests, tokens } of await accounts.listActivity(first * WINDOW_MS)) {
    await counter.set(nameOf(keyId, 'requests', first), requests, WINDOW_MS / 1000);
    await counter.set(nameOf(keyId, 'tokens', first), tokens, WINDOW_MS / 1000);
  }

  return {
    async take({ keyId, limits }, tokens) {
      const window = windowOf(nowMs());
      const parts = partsOf(limits, { requests: 1, tokens }).map((part) => ({
        ...part,
        name: nameOf(keyId, part.kind, window),
      }));
      // Both are asked in the same turn, whatever comes of it: so requests learn in the order of their coming how they stand.
      const counts = await Promise.all(parts.map(({ name, points }) => counter.consume(name, points)));
      const counted = parts.map((part, at) => ({ ...part, used: counts[at]?.consumedPoints ?? 0 }));
      const resetMs = resetOf(nowMs());
      // When the minute is over by then, this changes a count that nobody looks at any more.
      const give = (): void => {
        for (const { name, points } of parts) void counter.reward(name, points);
      };
      const exceeded = counted.find(({ points, used, limit }) => points > 0 && used > limit);
      if (exceeded !== undefined) {
        give();
        const before = counted.map((part) => ({ ...part, used: part.used - part.points }));
        throw refusalOf(exceeded, toState(before, resetMs));
      }
      return {
        headers: toHeaders(toState(counted, resetMs)),
        takeBack: give,
        correct(used) {
          const taken = parts.find(({ kind }) => kind === 'tokens');
          if (taken !== undefined) void counter.penalty(taken.name, used - taken.points);
        },
      };
    },
    async show({ keyId, limits }) {
      const window = windowOf(nowMs());
      const counted = partsOf(limits, { requests: 0, tokens: 0 }).map(async (part) => {
        const count = await counter.get(nameOf(keyId, part.kind, window));
        return { ...part, used: count?.consumedPoints ?? 0 };
      });
      return toState(await Promise.all(counted), resetOf(nowMs()));
    },
  };
}

function windowOf(nowMs: number): number {
  return Math.floor(nowMs / WINDOW_MS);
}

function resetOf(nowMs: number): number {
  return WINDOW_MS - (nowMs % WINDOW_MS);
}

function nameOf(keyId: KeyId, kind: Kind, window: number): string {
  return `${keyId} ${kind} ${window}`;
}

interface Part {
  readonly kind: Kind;
  readonly limit: number;
  /** What is asked of it. */
  readonly points: number;
}

interface CountedPart extends Part {
  readonly used: number;
}

/** What of it is limited at all. */
function partsOf(limits: KeyLimits, points: Readonly<Record<Kind, number>>): readonly Part[] {
  const { requestsPerMinute, tokensPerMinute } = limits;
  const parts: Part[] = [];
  if (requestsPerMinute !== null) parts.push({ kind: 'requests', limit: requestsPerMinute, points: points.requests });
  if (tokensPerMinute !== null) parts.push({ kind: 'tokens', limit: tokensPerMinute, points: points.tokens });
  return parts;
}

function toState(counted: readonly CountedPart[], resetMs: number): RateLimitState {
  const states: { [K in Kind]?: LimitState } = {};
  for (const { kind, limit, used } of counted) states[kind] = { limit, remaining: Math.max(0, limit - used) };
  return { ...states, resetMs };
}

function toHeaders(state: RateLimitState): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const kind of ['requests', 'tokens'] as const) {
    const part = state[kind];
    if (part === undefined) continue;
    headers[`x-ratelimit-limit-${kind}`] = String(part.limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(part.remaining);
    headers[`x-ratelimit-reset-${kind}`] = toDuration(state.resetMs);
  }
  return headers;
}

/** As OpenAI writes it: `20ms`, `1s`, `6m0s`. */
function toDuration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`;
  const seconds = Math.ceil(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}

function refusalOf({ kind, limit, points }: CountedPart, state: RateLimitState): ApiError {
  const headers = toHeaders(state);
  if (points > limit) {
    const message = `The request needs about ${points} ${kind}, and the API key has ${limit} per minute: it can never run.`;
    return new ApiError('rate_limit_exceeded', { message, headers: { ...headers, 'x-should-retry': 'false' } });
  }
  const seconds = Math.ceil(state.resetMs / 1000);
  const left = state[kind]?.remaining ?? 0;
  const need = kind === 'requests' ? '' : `, ${left} are left, and the request needs about ${points}`;
  return new ApiError('rate_limit_exceeded', {
    message: `The API key has ${limit} ${kind} per minute${need}. Try again in ${seconds} s.`,
    headers: { ...headers, 'retry-after': String(seconds) },
  });
}
