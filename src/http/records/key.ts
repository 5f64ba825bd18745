import type { RequestHandler } from 'express';
import type { LimitState, RateLimits, RateLimitState } from '../../accounts/rates.ts';
import { mayUse } from '../../accounts/admission.ts';
import { spendWindowsOf, type SpendRoom } from '../../accounts/spend.ts';
import { ApiError } from '../../core/errors.ts';
import { recordOf } from '../../core/map-values.ts';
import { SPEND_WINDOWS } from '../../core/money/limits.ts';
import { listPrices, type Prices } from '../../core/money/pricing.ts';
import { DAY_MS, toSeconds } from '../../core/time.ts';
import type { AccountStore, StoredAccount, StoredGroup, StoredKey, UsageRow } from '../../core/books/keys.ts';
import type { OwnGroup, OwnKey, OwnLimit, OwnPrice, OwnUsage } from '../../contract/record-types.ts';
import type { PriceTable } from '../../contract/settings-types.ts';
import { callerOf } from '../../access/authenticate.ts';

export interface ShowKeyOptions {
  readonly accounts: AccountStore;
  readonly rateLimits: RateLimits | undefined;
  readonly prices: { readonly present: Prices | null };
  readonly nowMs: () => number;
}

/** `GET /api/v1/key`: the limits and the balance of the caller's own key. */
export function showKey({ accounts, rateLimits, prices, nowMs }: ShowKeyOptions): RequestHandler {
  return async (_req, res) => {
    const caller = callerOf(res);
    if (caller.key === undefined || rateLimits === undefined) throw new ApiError('not_found', { message: NO_KEYS });
    const atMs = nowMs();
    // The key of the caller may be a second old, so it is read again.
    const key = await accounts.findKey(caller.key.keyId);
    if (key === undefined) throw new ApiError('invalid_api_key');
    const [dayMs, fromMs] = [key.today.day.startsAtMs, key.today.month.startsAtMs];
    // Usage is counted by the hour, whose days are those of UTC.
    const per = [dayMs, fromMs].every((ms) => ms % DAY_MS === 0) ? 'day' : 'hour';
    const rows = await accounts.listUsage({ caller: caller.identity, fromMs, untilMs: atMs + 1, per });
    const rates = await rateLimits.show(key.keyId);
    const groupRates = key.group === null ? NO_RATES : await rateLimits.show(key.group.groupId);
    res.json({
      object: 'key',
      ...describeKey(key),
      currency: prices.present?.currency ?? null,
      ...describeLimits(key, rates, atMs),
      group: describeGroup(key.group, groupRates, atMs),
      gateway: describeGroup(key.gateway, NO_RATES, atMs),
      prices: pricesFor(key, prices.present?.table),
      usage: { today: sumOf(rows.filter(({ startMs }) => startMs >= dayMs)), this_month: sumOf(rows) },
    } satisfies OwnKey);
  };
}

const NO_KEYS = 'This gateway does not issue keys (AUTH_MODE is not managed), so it has no data about yours.';

function describeKey(key: StoredKey) {
  return {
    id: key.keyId,
    name: key.name,
    prefix: key.prefix,
    created_at: toSeconds(key.createdAtMs),
    ...describeFunds(key),
  };
}

const NO_RATES: RateLimitState = { resetMs: 0 };

function describeGroup(group: StoredGroup | null, rates: RateLimitState, atMs: number): OwnGroup | null {
  if (group === null) return null;
  const { groupId: id, name } = group;
  return { id, name, ...describeFunds(group), ...describeLimits(group, rates, atMs) };
}

function describeFunds(account: StoredAccount) {
  return {
    expires_at: account.expiresAtMs === null ? null : toSeconds(account.expiresAtMs),
    models: account.models === null ? null : [...account.models],
    balance: account.balanceMicro,
    held: account.heldMicro,
    spent: recordOf(SPEND_WINDOWS, ({ now, spent }) => [now, account[spent]]),
  };
}

function describeLimits(account: StoredAccount, rates: RateLimitState, atMs: number) {
  const windows = spendWindowsOf(account);
  const limitOf = (of: SpendRoom['per']): OwnLimit => toSpendLimit(windows.find(({ per }) => per === of));
  const resetsAt = Math.ceil((atMs + rates.resetMs) / 1000);
  return {
    rate_limits: {
      requests_per_minute: toRateLimit(rates.requests, resetsAt),
      tokens_per_minute: toRateLimit(rates.tokens, resetsAt),
    },
    spend_limits: recordOf(SPEND_WINDOWS, ({ per }) => [`per_${per}`, limitOf(per)]),
  };
}

/** A pattern is shown to each key, as it may be the price of what the key may use. */
function pricesFor(key: StoredKey, table: PriceTable | undefined): OwnPrice[] {
  return listPrices(table).filter(({ model }) => model.includes('*') || mayUse(key, model));
}

function toRateLimit(state: LimitState | undefined, resetsAt: number): OwnLimit {
  return state === undefined ? null : { limit: state.limit, remaining: state.remaining, resets_at: resetsAt };
}

function toSpendLimit(window: SpendRoom | undefined): OwnLimit {
  if (window === undefined) return null;
  const { limitMicro, leftMicro, endsAtMs } = window;
  return { limit: limitMicro, remaining: Math.max(0, leftMicro), resets_at: toSeconds(endsAtMs) };
}

function sumOf(rows: readonly UsageRow[]): OwnUsage {
  const sum = (count: (row: UsageRow) => number): number => rows.reduce((total, row) => total + count(row), 0);
  return {
    requests: sum((row) => row.requests),
    failed: sum((row) => row.failed),
    cancelled: sum((row) => row.cancelled),
    input_tokens: sum((row) => row.inputTokens),
    cached_tokens: sum((row) => row.cachedTokens),
    cache_write_tokens: sum((row) => row.cacheWriteTokens),
    output_tokens: sum((row) => row.outputTokens),
    reasoning_tokens: sum((row) => row.reasoningTokens),
  };
}
