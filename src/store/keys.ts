import type { KeyId, RequestId } from '../contract/ids.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import type { RateLimits, RateStanding } from '../core/money/rates.ts';
import type { Identity } from '../identity/identities.ts';

export type { RateStanding };

/**
 * The keys of `AUTH_MODE=managed` with their credits and what was used (contract, section 7). All amounts are whole
 * millionths of the currency unit, and safe integers. Every call throws ApiError `store_unavailable` when it cannot be
 * served, as the calls of the record store do.
 */
export interface AccountStore {
  /** Makes a key, with its first credits. Throws RangeError for credits which are not a whole number, negative or too large. */
  createKey(draft: KeyDraft): Promise<StoredKey>;
  /**
   * The key whose present or, until its grace ends, former secret has one of these HMACs. One that was found by the HMAC
   * of a previous `GATEWAY_SECRET` is known by the present one from then on. Undefined when there is none; a disabled or
   * expired key is returned, so that its owner can be told.
   */
  findKeyByHash(hash: Identity): Promise<StoredKey | undefined>;
  findKey(keyId: KeyId): Promise<StoredKey | undefined>;
  /** All of them, newest first, in pages. */
  listKeys(query: { readonly limit: number; readonly after?: KeyId }): Promise<KeyPage | undefined>;
  /** Changes what is named and returns the key as it is then. Undefined when there is no such key. */
  updateKey(keyId: KeyId, change: KeyChange): Promise<StoredKey | undefined>;
  /** Gives the key a new secret; the former one is good until `formerUntilMs`. What belongs to the key stays with it. */
  rotateKey(keyId: KeyId, secret: KeySecret, formerUntilMs: number): Promise<StoredKey | undefined>;
  /**
   * Deletes the key with its limits and its ledger. What runs ends as it would have, and its records and its usage stay as
   * long as those of others. False when there is no such key.
   */
  deleteKey(keyId: KeyId): Promise<boolean>;
  /**
   * Adds an entry to the ledger and to the balance, in one transaction, and makes the key prepaid. Undefined when there is
   * no such key. Throws RangeError for an amount which the entry must not have, and when the balance would leave the safe
   * integers, and ApiError `duplicate_request` when the key has an entry with this reference. After any other throw it may
   * have been added or not: the ledger tells, or another try with the same reference.
   */
  credit(keyId: KeyId, entry: CreditEntry): Promise<StoredKey | undefined>;
  /** The entries of a key, newest first. Undefined when there is no such key. */
  listLedger(keyId: KeyId, query: LedgerQuery): Promise<LedgerPage | undefined>;
  /**
   * What was used by what ended in these UTC hours (the first and the last as a whole), summed up by hour, day or month,
   * caller and model; oldest first. It is known for USAGE_KEPT_DAYS. Looks no further once the signal has aborted, and
   * throws its reason.
   */
  listUsage(query: UsageQuery, signal?: StopSignal): Promise<readonly UsageRow[]>;
  /**
   * Takes a request that has no record, and so many tokens, out of what the key has left in this minute. Requests with a
   * record take theirs when they are accepted.
   */
  takeRate(keyId: KeyId, tokens: number): Promise<RateVerdict>;
  /** Adds so many tokens, also fewer than none, to what the key has used in this minute, unless the minute is over. */
  correctRate(keyId: KeyId, minute: number, tokens: number): Promise<void>;
  /** How the key stands in this minute. Undefined when there is no such key, or it has no such limits. */
  findRate(keyId: KeyId): Promise<RateStanding | undefined>;
}

/** For how long `listUsage` knows what was used: a year, and the month before it to compare with. */
export const USAGE_KEPT_DAYS = 400;

/** What is kept of the secret of a key. */
export interface KeySecret {
  readonly hash: Identity;
  /** Its first characters, by which people know it again. */
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
  /** Names or patterns with `*`; null allows all. */
  readonly models: readonly string[] | null;
  readonly limits: KeyLimits;
  /** The first grant; null for a key which is not prepaid, whose requests are limited by `limits` alone. */
  readonly creditsMicro: number | null;
}

/** What is absent stays as it is. */
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
  /** What can be reserved now: the sum of its ledger, reservations already taken off. Null when it is not prepaid. */
  readonly balanceMicro: number | null;
  /** Reserved for what runs. */
  readonly heldMicro: number;
  /** Charged on that UTC day and in that month, by the clock of the store at the time of the charge. */
  readonly spentTodayMicro: number;
  readonly spentThisMonthMicro: number;
  /** Until when the secret before the last rotation is good. */
  readonly formerUntilMs: number | null;
}

export interface KeyPage {
  readonly keys: readonly StoredKey[];
  readonly hasMore: boolean;
}

/** `carry` stands for entries which were pruned. */
export type LedgerKind = 'grant' | 'adjust' | 'reserve' | 'release' | 'settle' | 'carry';

export interface CreditEntry {
  readonly kind: 'grant' | 'adjust';
  /** Not zero; a grant is positive. */
  readonly amountMicro: number;
  /** Why, for people. */
  readonly note: string;
  /** A name that no other entry of the key has, so that one which got no answer can be tried again. A carry forgets it. */
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
  /** Continue with what is older than this entry. */
  readonly beforeSeq?: number;
}

export interface LedgerPage {
  readonly entries: readonly LedgerEntry[];
  readonly hasMore: boolean;
}

export interface UsageQuery {
  /**
   * The caller's own, also what was used while it was known by a previous secret, which is shown under its present name.
   * Undefined for all callers, which is for the operator alone.
   */
  readonly caller?: Identity;
  readonly fromMs: number;
  /** Not included. */
  readonly untilMs: number;
  readonly per: 'hour' | 'day' | 'month';
}

/** The requests that ended in one span of UTC time. */
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
  /** From acceptance to the end, of all of them together. */
  readonly durationMs: number;
}

/** With the standing of the key afterwards, which a refusal leaves as it was; absent for a key without such limits. */
export interface RateVerdict {
  readonly refused?: 'invalid_api_key' | 'rate_limit_exceeded';
  readonly rates?: RateStanding;
}

/** What a record costs the key that made it, as far as it is known when it is accepted. */
export interface Hold {
  readonly keyId: KeyId;
  /** Taken off the balance, and counted in the spend limits, until the record is final. 0 when the model has no price. */
  readonly heldMicro: number;
  /** Charged when the process dies before the end is known; null when the model has no price. */
  readonly interruptedCostMicro: number | null;
  /** Taken out of the tokens of the minute, where they are limited. */
  readonly tokens: number;
}

/** Why a record is not accepted, in this order: the key is gone, disabled or expired, its minute is full, or its funds do not suffice. */
export type Refusal = 'invalid_api_key' | 'rate_limit_exceeded' | 'insufficient_credits' | 'spend_limit_exceeded';
