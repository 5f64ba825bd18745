import type { KeyId, RequestId } from '../contract/ids.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import type { RateLimits, RateStanding } from '../core/money/rates.ts';
import type { Identity } from '../identity/identities.ts';

export type { RateStanding };

/**
 * The keys of `AUTH_MODE=managed` with their credits and their usage. All amounts are whole
 * millionths of the currency unit, and safe integers. Every call throws ApiError
 * `store_unavailable` when the database cannot serve it.
 */
export interface AccountStore {
  /**
   * Makes a key with its first credits. Throws RangeError for credits that are not a whole number,
   * negative or too large.
   */
  createKey(draft: KeyDraft): Promise<StoredKey>;
  /**
   * Returns the key whose current secret has one of these HMACs, or whose former secret does and
   * has not expired. A key that is found by the HMAC of a previous `GATEWAY_SECRET` is stored under
   * the current one. Returns disabled and expired keys too, so that the error can say so. Undefined
   * when there is none.
   */
  findKeyByHash(hash: Identity): Promise<StoredKey | undefined>;
  findKey(keyId: KeyId): Promise<StoredKey | undefined>;
  /** Returns a page of all keys, newest first. Undefined when `after` is no key. */
  listKeys(query: { readonly limit: number; readonly after?: KeyId }): Promise<KeyPage | undefined>;
  /**
   * Changes the named properties and returns the changed key. Undefined when there is no such key.
   */
  updateKey(keyId: KeyId, change: KeyChange): Promise<StoredKey | undefined>;
  /**
   * Replaces the secret of a key; the former secret works until `formerUntilMs`. Undefined when
   * there is no such key.
   */
  rotateKey(keyId: KeyId, secret: KeySecret, formerUntilMs: number): Promise<StoredKey | undefined>;
  /**
   * Deletes the key with its limits and its ledger. Running requests continue, and records and
   * usage stay until they are pruned. False when there is no such key.
   */
  deleteKey(keyId: KeyId): Promise<boolean>;
  /**
   * Adds an entry to the ledger and to the balance in one transaction, and makes the key prepaid.
   * Undefined when there is no such key. Throws RangeError for an invalid amount, or when the
   * balance would leave the safe integers. Throws ApiError `duplicate_request` when the key has an
   * entry with this reference. After any other error the entry may exist: retry with the same
   * reference.
   */
  credit(keyId: KeyId, entry: CreditEntry): Promise<StoredKey | undefined>;
  /** Returns a page of the entries of a key, newest first. Undefined when there is no such key. */
  listLedger(keyId: KeyId, query: LedgerQuery): Promise<LedgerPage | undefined>;
  /**
   * Returns the usage of requests that ended in these UTC hours, oldest first, added up by hour,
   * day or month, caller and model. The first and the last hour count as a whole. Usage is kept for
   * USAGE_KEPT_DAYS. Throws the reason of the signal once it has aborted.
   */
  listUsage(query: UsageQuery, signal?: StopSignal): Promise<readonly UsageRow[]>;
  /**
   * Counts a request without a record, and its tokens, in the current minute of the key. `accept`
   * counts requests with a record.
   */
  takeRate(keyId: KeyId, tokens: number): Promise<RateVerdict>;
  /**
   * Adds tokens, which may be negative, to the current minute of the key. Does nothing when the
   * minute is over.
   */
  correctRate(keyId: KeyId, minute: number, tokens: number): Promise<void>;
  /**
   * Returns the counts of the key in this minute. Undefined when there is no such key, or it has no
   * such limits.
   */
  findRate(keyId: KeyId): Promise<RateStanding | undefined>;
}

/** How long usage is kept: a year, and one month more to compare with. */
export const USAGE_KEPT_DAYS = 400;

export interface KeySecret {
  readonly hash: Identity;
  /** The first characters, by which people recognize the key. */
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
  /** The first grant; null for a key that is not prepaid, which only `limits` restrict. */
  readonly creditsMicro: number | null;
}

/** Absent properties stay as they are. */
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
  /**
   * The sum of the ledger, from which reservations are already subtracted. Null when the key is not
   * prepaid.
   */
  readonly balanceMicro: number | null;
  /** The amount that running requests have reserved. */
  readonly heldMicro: number;
  /**
   * The charges of this UTC day and month, by the clock of the store at the time of each charge.
   */
  readonly spentTodayMicro: number;
  readonly spentThisMonthMicro: number;
  /** The time until which the former secret works. */
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
  /** The reason, for people to read. */
  readonly note: string;
  /** A name that no other entry of the key has. It makes a retry safe. A carry drops it. */
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
  /** Selects entries that are older than this one. */
  readonly beforeSeq?: number;
}

export interface LedgerPage {
  readonly entries: readonly LedgerEntry[];
  readonly hasMore: boolean;
}

export interface UsageQuery {
  /**
   * Selects the usage of this caller, under all of its HMACs, and returns it under the first.
   * Undefined selects all callers, which only the operator may do.
   */
  readonly caller?: Identity;
  readonly fromMs: number;
  /** Not included. */
  readonly untilMs: number;
  readonly per: 'hour' | 'day' | 'month';
}

/** The requests of one caller and model that ended in one span of UTC time. */
export interface UsageRow {
  readonly startMs: number;
  /** The key id in managed mode, else the HMAC of a key. */
  readonly caller: string;
  readonly model: string;
  readonly requests: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly costMicro: number;
  /** The sum of the times from acceptance to the end. */
  readonly durationMs: number;
}

/**
 * `rates` are the counts after the request, or the unchanged counts after a refusal. Absent for a
 * key without such limits.
 */
export interface RateVerdict {
  readonly refused?: 'invalid_api_key' | 'rate_limit_exceeded';
  readonly rates?: RateStanding;
}

/** What a record may cost its key, as far as that is known when the record is accepted. */
export interface Hold {
  readonly keyId: KeyId;
  /**
   * Subtracted from the balance, and counted in the spend limits, until the record is final. 0 when
   * the model has no price.
   */
  readonly heldMicro: number;
  /** Charged when the process dies before the request ends; null when the model has no price. */
  readonly interruptedCostMicro: number | null;
  /** Counted in the tokens of the minute, where these are limited. */
  readonly tokens: number;
}

/**
 * Why a record is not accepted. The checks run in this order: the key is missing, disabled or
 * expired; its minute is full; its funds do not suffice.
 */
export type Refusal = 'invalid_api_key' | 'rate_limit_exceeded' | 'insufficient_credits' | 'spend_limit_exceeded';
