import { ApiError } from '../core/errors.ts';
import type { AccountId, KeyId } from '../contract/ids.ts';
import type { AccountStore, StoredKey } from '../core/books/keys.ts';
import { exceededBy, type RateCorrection, type RateKind, type RateStanding } from '../core/money/rates.ts';
import { faultOfGroup } from './keys.ts';
import { createReads } from './reads.ts';
import { setLast } from '../core/set-last.ts';

/**
 * The store counts by its own clock, in the transaction that accepts the request. So the limits
 * hold across processes and restarts, and cost no call of their own.
 */
export interface RateLimits {
  /**
   * Throws a recent refusal of the store again, so that a flood of requests does not reach it. One
   * token asks whether any is left.
   */
  check(key: RateLimitedKey, tokens: number): void;
  /**
   * Throws ApiError `rate_limit_exceeded` when a key with such limits has sent as many duplicates this minute as it may read
   * records.
   */
  checkRepeats(key: RateLimitedKey): void;
  /** Counts a duplicate, and what was refused only after its body had shown that it is none. */
  countRepeat(key: RateLimitedKey): void;
  /**
   * Takes a request without tokens. Throws ApiError `rate_limit_exceeded`, and then takes nothing.
   */
  take(key: RateLimitedKey): Promise<RateCharge>;
  /** Takes a request that was refused before it could be taken. Does not wait. */
  takeRefused(key: RateLimitedKey): void;
  /** `rates` is absent for a key without such limits. */
  taken(keyId: KeyId, tokens: number, rates: RateStanding | undefined): RateCharge;
  explain(keyId: KeyId, tokens: number, rates: RateStanding | undefined): ApiError;
  /** Returns how a key, or a group, stands by its own limits. */
  show(accountId: AccountId): Promise<RateLimitState>;
}

export type RateLimitedKey = Pick<StoredKey, 'keyId' | 'limits' | 'group'>;

export interface RateCharge {
  /** The names and formats are OpenAI's. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Returns what the end of the record is to correct, so that the tokens that were used stand in the place of those that were
   * taken; null if that changes nothing.
   */
  correct(tokens: number): RateCorrection | null;
}

export interface RateLimitState {
  readonly requests?: LimitState;
  readonly tokens?: LimitState;
  readonly resetMs: number;
}

export interface LimitState {
  readonly limit: number;
  readonly remaining: number;
}

export const NO_RATE_CHARGE: RateCharge = { headers: {}, correct: () => null };

/** Another process may give tokens back, so a refusal is repeated only this long. */
const REFUSED_FOR_MS = 200;
const MAX_REMEMBERED = 10_000;

interface Refused {
  readonly rates: RateStanding;
  readonly atMs: number;
}

/** Returns the limits of all keys in this store. `nowMs` measures ages only. */
export function createRateLimits({
  accounts,
  nowMs,
}: {
  readonly accounts: Pick<AccountStore, 'takeRate' | 'findRate'>;
  readonly nowMs: () => number;
}): RateLimits {
  const refused = new Map<KeyId, Refused>();
  const repeats = createReads({ what: 'repeat requests', nowMs });

  function explain(keyId: KeyId, tokens: number, rates: RateStanding | undefined): ApiError {
    if (rates === undefined) return new ApiError('rate_limit_exceeded');
    remember(keyId, rates);
    return refusalOf(tokens, rates);
  }

  function remember(keyId: KeyId, rates: RateStanding): void {
    setLast(refused, keyId, { rates, atMs: nowMs() }, MAX_REMEMBERED);
  }

  function taken(keyId: KeyId, tokens: number, rates: RateStanding | undefined): RateCharge {
    if (rates === undefined) return NO_RATE_CHARGE;
    const takenAtMs = nowMs();
    // Nothing of the minute is left, so that the next request is refused without the store.
    if (exceedingOf(1, rates) !== undefined) remember(keyId, rates);
    return {
      headers: toHeaders(toState(rates)),
      correct(used) {
        const known = refused.get(keyId);
        if (known !== undefined && !isFinal(known)) refused.delete(keyId);
        // Nothing reads the counts of a past minute.
        const isOver = nowMs() - takenAtMs > rates.resetMs;
        if (rates.tokensPerMinute === null || used === tokens || isOver) return null;
        return { minute: rates.minute, tokens: used - tokens };
      },
    };
  }

  function check({ keyId, limits, group }: RateLimitedKey, tokens: number): void {
    const known = refused.get(keyId);
    if (known === undefined) return;
    const ageMs = nowMs() - known.atMs;
    const changedGroup = known.rates.group?.id !== group?.groupId;
    if (
      changedGroup ||
      ageMs < 0 ||
      ageMs >= Math.min(isFinal(known) ? Infinity : REFUSED_FOR_MS, known.rates.resetMs)
    ) {
      refused.delete(keyId);
      return;
    }
    const limitsOf = (kind: RateKind) => (isOfGroup(known.rates, kind) ? (group?.limits ?? limits) : limits);
    const rates = {
      ...known.rates,
      requestsPerMinute: limitsOf('requests').requestsPerMinute,
      tokensPerMinute: limitsOf('tokens').tokensPerMinute,
      resetMs: known.rates.resetMs - ageMs,
    };
    if (exceedingOf(tokens, rates) !== undefined) throw refusalOf(tokens, rates);
  }

  async function take(key: RateLimitedKey): Promise<RateCharge> {
    if (!isLimited(key)) return NO_RATE_CHARGE;
    check(key, 0);
    const decision = await accounts.takeRate(key.keyId, 0);
    if (decision.refused === undefined) return taken(key.keyId, 0, decision.rates);
    throw decision.refused === 'rate_limit_exceeded'
      ? explain(key.keyId, 0, decision.rates)
      : new ApiError(decision.refused, decision.ofGroup && { message: faultOfGroup(decision.ofGroup) });
  }

  return {
    check,
    checkRepeats(key) {
      if (!isLimited(key)) return;
      repeats.check(key.keyId, key.limits.requestsPerMinute ?? key.group?.limits.requestsPerMinute);
    },
    countRepeat: ({ keyId }) => repeats.count(keyId),
    take,
    takeRefused: (key) => void take(key).catch(() => undefined),
    taken,
    explain,
    async show(accountId) {
      const rates = await accounts.findRate(accountId);
      return rates === undefined ? { resetMs: 0 } : toState(rates);
    },
  };
}

function isLimited({ limits, group }: RateLimitedKey): boolean {
  return hasRateLimits(limits) || (group !== null && hasRateLimits(group.limits));
}

function hasRateLimits({ requestsPerMinute, tokensPerMinute }: StoredKey['limits']): boolean {
  return requestsPerMinute !== null || tokensPerMinute !== null;
}

function isOfGroup({ group }: RateStanding, kind: RateKind): boolean {
  return group?.limits.includes(kind) === true;
}

/** Tokens are given back before the minute is over, requests are not. */
function isFinal({ rates }: Refused): boolean {
  return exceedingOf(0, rates) === 'requests';
}

function exceedingOf(tokens: number, rates: RateStanding): RateKind | undefined {
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

/** Formats a span as OpenAI does: `20ms`, `1s`, `6m0s`. */
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
  const who = isOfGroup(rates, kind) ? 'the group of the API key' : 'the API key';
  if (points > limit) {
    const cure = kind === 'tokens' ? ' A lower max_output_tokens makes it need fewer.' : '';
    const message = `The request needs about ${points} ${kind}, and ${who} has ${limit} per minute: it can never run.${cure}`;
    return new ApiError('rate_limit_exceeded', { message, headers: { ...headers, 'x-should-retry': 'false' } });
  }
  const seconds = Math.ceil(rates.resetMs / 1000);
  const need = kind === 'requests' ? '' : needOf(points, remaining);
  return new ApiError('rate_limit_exceeded', {
    message: `${capitalize(who)} has ${limit} ${kind} per minute${need}. Try again in ${seconds} s.`,
    headers: { ...headers, 'retry-after': String(seconds) },
  });
}

/** Before the body is read, nobody knows what the request needs. */
function needOf(tokens: number, remaining: number): string {
  return remaining === 0 ? ', and none are left' : `, ${remaining} are left, and the request needs about ${tokens}`;
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
