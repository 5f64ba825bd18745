import type { KeyId, RequestId } from '../contract/ids.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import type { RateLimits, RateStanding } from '../core/money/rates.ts';
import type { Identity } from '../identity/identities.ts';

export type { RateStanding };

/**
 * The keys of `AUTH_MODE=managed`. Amounts are whole millionths of the currency unit and safe
 * integers. Lists begin with the newest. Calls return undefined or false for an unknown key, and
 * throw ApiError `store_unavailable` when the database cannot serve them.
 */
export interface AccountStore {
  /** Throws RangeError for credits that are not a whole number, negative or too large. */
  createKey(draft: KeyDraft): Promise<StoredKey>;
  /**
   * Finds a key by its current secret, or by a former one that has not expired, and stores it under
   * the current `GATEWAY_SECRET`. Returns disabled and expired keys too, so that the error can say
   * so.
   */
  findKeyByHash(hash: Identity): Promise<StoredKey | undefined>;
  findKey(keyId: KeyId): Promise<StoredKey | undefined>;
  listKeys(query: { readonly limit: number; readonly after?: KeyId }): Promise<KeyPage | undefined>;
  updateKey(keyId: KeyId, change: KeyChange): Promise<StoredKey | undefined>;
  rotateKey(keyId: KeyId, secret: KeySecret, formerUntilMs: number): Promise<StoredKey | undefined>;
  /** Running requests continue. Records and usage stay until they are pruned. */
  deleteKey(keyId: KeyId): Promise<boolean>;
  /**
   * Adds an entry to the ledger and to the balance, and makes the key prepaid. Throws RangeError
   * for an invalid amount or balance, and ApiError `duplicate_request` for a known reference. After
   * any other error the entry may exist: retry with the same reference.
   */
  credit(keyId: KeyId, entry: CreditEntry): Promise<StoredKey | undefined>;
  listLedger(keyId: KeyId, query: LedgerQuery): Promise<LedgerPage | undefined>;
  /**
   * Adds up the requests that ended in these UTC hours, oldest first. The first and the last hour
   * count as a whole. Throws the reason of the signal once it has aborted.
   */
  listUsage(query: UsageQuery, signal?: StopSignal): Promise<readonly UsageRow[]>;
  /** Counts a request without a record. `accept` counts requests with a record. */
  takeRate(keyId: KeyId, tokens: number): Promise<RateVerdict>;
  /** Adds tokens, which may be negative. Does nothing when the minute is over. */
  correctRate(keyId: KeyId, minute: number, tokens: number): Promise<void>;
  findRate(keyId: KeyId): Promise<RateStanding | undefined>;
  /** Keeps the HMAC of a key that the backend has accepted. The latest 10,000 are kept. */
  rememberAccepted(caller: string, atMs: number): Promise<void>;
  listAccepted(): Promise<readonly string[]>;
}

/** How long usage is kept: a year, and one month more to compare with. */
export const USAGE_KEPT_DAYS = 400;

export interface KeySecret {
  readonly hash: Identity;
  readonly prefix: string;
}

export interface KeyLimits extends RateLimits {
  readonly spendPerDayMicro: number | null;
  readonly spendPerMonthMicro: number | null;
}

export interface KeyDraft {
  readonly keyId: KeyId;
  readonly secret: KeySecret;
  readonly name: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  /** Names, or patterns with `*`; null allows all models. */
  readonly models: readonly string[] | null;
  readonly limits: KeyLimits;
  readonly creditsMicro: number | null;
}

export interface KeyChange {
  readonly name?: string;
  readonly isDisabled?: boolean;
  readonly expiresAtMs?: number | null;
  readonly models?: readonly string[] | null;
  readonly limits?: Partial<KeyLimits>;
}

export interface StoredKey {
  readonly keyId: KeyId;
  readonly prefix: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  readonly isDisabled: boolean;
  readonly models: readonly string[] | null;
  readonly limits: KeyLimits;
  /** The sum of the ledger, without what is reserved. Null when the key is not prepaid. */
  readonly balanceMicro: number | null;
  readonly heldMicro: number;
  readonly spentTodayMicro: number;
  readonly spentThisMonthMicro: number;
  readonly formerUntilMs: number | null;
}

export interface KeyPage {
  readonly keys: readonly StoredKey[];
  readonly hasMore: boolean;
}

/** `carry` replaces entries that were pruned. */
export type LedgerKind = 'grant' | 'adjust' | 'reserve' | 'release' | 'settle' | 'carry';

export interface CreditEntry {
  readonly kind: 'grant' | 'adjust';
  /** Not zero; a grant is positive. */
  readonly amountMicro: number;
  readonly note: string;
  /** Unique within the key, so that a retry is safe. A carry drops it. */
  readonly reference?: string;
  readonly createdAtMs: number;
}

export interface LedgerEntry {
  readonly seq: number;
  readonly kind: LedgerKind;
  readonly amountMicro: number;
  readonly requestId: RequestId | null;
  readonly note: string;
  readonly reference: string | null;
  readonly createdAtMs: number;
}

export interface LedgerQuery {
  readonly limit: number;
  readonly beforeSeq?: number;
}

export interface LedgerPage {
  readonly entries: readonly LedgerEntry[];
  readonly hasMore: boolean;
}

export interface UsageQuery {
  /** Includes all of its HMACs. Undefined selects all callers, which only the operator may do. */
  readonly caller?: Identity;
  readonly fromMs: number;
  readonly untilMs: number;
  readonly per: 'hour' | 'day' | 'month';
}

export interface UsageRow {
  readonly startMs: number;
  readonly caller: string;
  readonly model: string;
  readonly requests: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly costMicro: number;
  readonly durationMs: number;
}

export interface RateVerdict {
  readonly refused?: 'invalid_api_key' | 'rate_limit_exceeded';
  readonly rates?: RateStanding;
}

export interface Hold {
  readonly keyId: KeyId;
  /** Reserved until the record is final. 0 when the model has no price. */
  readonly heldMicro: number;
  /** Charged when the process dies before the request ends; null when the model has no price. */
  readonly interruptedCostMicro: number | null;
  readonly tokens: number;
}

/** The checks run in this order: the key, its minute, its funds. */
export type Refusal = 'invalid_api_key' | 'rate_limit_exceeded' | 'insufficient_credits' | 'spend_limit_exceeded';
