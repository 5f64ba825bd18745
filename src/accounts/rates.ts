import { ApiError } from '../core/errors.ts';
import type { KeyId } from '../contract/ids.ts';
import type { AccountStore, RateStanding, StoredKey } from '../store/keys.ts';
import { exceededBy } from '../core/money/rates.ts';

/**
 * Requests and tokens per minute (contract, section 7). The store counts them, in the transaction that accepts the request:
 * so they hold across all processes on one database and through a restart, and cost no way to it of their own. The minutes
 * are those of its clock. A limit that is changed holds for the next request.
 */
export interface RateLimits {
  /**
   * Throws ApiError `rate_limit_exceeded` when the store has refused as much a moment ago, so that a flood of refused
   * requests does not reach it.
   */
  check(key: RateLimitedKey, tokens: number): void;
  /** Takes a request without a record and without tokens. Throws ApiError `rate_limit_exceeded`; nothing is taken then. */
  take(key: RateLimitedKey): Promise<Taken>;
  /** What a request has taken that the store has accepted. `rates` is absent for a key without such limits. */
  taken(keyId: KeyId, tokens: number, rates: RateStanding | undefined): Taken;
  /** What the caller is told of a request that the store has refused for its rate. */
  explain(keyId: KeyId, tokens: number, rates: RateStanding | undefined): ApiError;
  /** What the key has left; each absent without such a limit. */
  show(key: RateLimitedKey): Promise<RateLimitState>;
}

export type RateLimitedKey = Pick<StoredKey, 'keyId' | 'limits'>;

export interface Taken {
  /** `x-ratelimit-*`, as OpenAI names and writes them. */
  readonly headers: Readonly<Record<string, string>>;
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

/** What was taken where nothing is limited. */
export const NOTHING_TAKEN: Taken = { headers: {}, correct: () => undefined };

/** For how long a refusal is repeated without asking the store: another process may have given something back since. */
const REFUSED_FOR_MS = 200;
const MAX_REMEMBERED = 10_000;

/** The limits of all keys in this store. `nowMs` tells how long ago something was, and nothing else. */
export function createRateLimits({
  accounts,
  nowMs,
}: {
  readonly accounts: Pick<AccountStore, 'takeRate' | 'correctRate' | 'findRate'>;
  readonly nowMs: () => number;
}): RateLimits {
  const refused = new Map<KeyId, { readonly rates: RateStanding; readonly atMs: number }>();

  function explain(keyId: KeyId, tokens: number, rates: RateStanding | undefined): ApiError {
    if (rates === undefined) return new ApiError('rate_limit_exceeded');
    refused.delete(keyId);
    const [oldest] = refused.keys();
    if (refused.size >= MAX_REMEMBERED && oldest !== undefined) refused.delete(oldest);
    refused.set(keyId, { rates, atMs: nowMs() });
    return refusalOf(tokens, rates);
  }

  function taken(keyId: KeyId, tokens: number, rates: RateStanding | undefined): Taken {
    if (rates === undefined) return NOTHING_TAKEN;
    const takenAtMs = nowMs();
    return {
      headers: toHeaders(toState(rates)),
      correct(used) {
        refused.delete(keyId);
        // The counts of a minute that is over are looked at no more.
        const isOver = nowMs() - takenAtMs > rates.resetMs;
        if (rates.tokensPerMinute === null || used === tokens || isOver) return;
        // It is for this minute alone: what cannot be written now needs no other try.
        void accounts.correctRate(keyId, rates.minute, used - tokens).catch(() => undefined);
      },
    };
  }

  function check({ keyId, limits }: RateLimitedKey, tokens: number): void {
    const known = refused.get(keyId);
    if (known === undefined) return;
    const ageMs = nowMs() - known.atMs;
    if (ageMs < 0 || ageMs >= Math.min(REFUSED_FOR_MS, known.rates.resetMs)) {
      refused.delete(keyId);
      return;
    }
    const { requestsPerMinute, tokensPerMinute } = limits;
    const rates = { ...known.rates, requestsPerMinute, tokensPerMinute, resetMs: known.rates.resetMs - ageMs };
    if (exceedingOf(tokens, rates) !== undefined) throw refusalOf(tokens, rates);
  }

  return {
    check,
    async take(key) {
      const { requestsPerMinute, tokensPerMinute } = key.limits;
      if (requestsPerMinute === null && tokensPerMinute === null) return NOTHING_TAKEN;
      check(key, 0);
      const verdict = await accounts.takeRate(key.keyId, 0);
      if (verdict.refused === undefined) return taken(key.keyId, 0, verdict.rates);
      throw verdict.refused === 'rate_limit_exceeded'
        ? explain(key.keyId, 0, verdict.rates)
        : new ApiError(verdict.refused);
    },
    taken,
    explain,
    async show({ keyId }) {
      const rates = await accounts.findRate(keyId);
      return rates === undefined ? { resetMs: 0 } : toState(rates);
    },
  };
}

function exceedingOf(tokens: number, rates: RateStanding): 'requests' | 'tokens' | undefined {
  return exceededBy(tokens, rates, { minuteRequests: rates.requests, minuteTokens: rates.tokens });
}

function toState({ requestsPerMinute, tokensPerMinute, requests, tokens, resetMs }: RateStanding): RateLimitState {
  const left = (limit: number, used: number): LimitState => ({ limit, remaining: Math.max(0, limit - used) });
  return {
    ...(requestsPerMinute !== null && { requests: left(requestsPerMinute, requests) }),
    ...(tokensPerMinute !== null && { tokens: left(tokensPerMinute, tokens) }),
    resetMs,
  };
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

function refusalOf(tokens: number, rates: RateStanding): ApiError {
  const state = toState(rates);
  const headers = toHeaders(state);
  const kind = exceedingOf(tokens, rates) ?? 'requests';
  const { limit, remaining } = state[kind] ?? { limit: 0, remaining: 0 };
  const points = kind === 'requests' ? 1 : tokens;
  if (points > limit) {
    const message = `The request needs about ${points} ${kind}, and the API key has ${limit} per minute: it can never run.`;
    return new ApiError('rate_limit_exceeded', { message, headers: { ...headers, 'x-should-retry': 'false' } });
  }
  const seconds = Math.ceil(rates.resetMs / 1000);
  const need = kind === 'requests' ? '' : `, ${remaining} are left, and the request needs about ${points}`;
  return new ApiError('rate_limit_exceeded', {
    message: `The API key has ${limit} ${kind} per minute${need}. Try again in ${seconds} s.`,
    headers: { ...headers, 'retry-after': String(seconds) },
  });
}
