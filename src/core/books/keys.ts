import type { AccountId, GroupId, KeyId, RequestId } from '../../contract/ids.ts';
import type { StopSignal } from '../stop-signal.ts';
import type { KeyLimits, SpendWindow, Spent } from '../money/limits.ts';
import type { RateStanding } from '../money/rates.ts';
import type { Identity } from '../ids.ts';
import { DAY_MS } from '../time.ts';

/**
 * The keys of `AUTH_MODE=managed`. Amounts are whole millionths of the currency unit and safe
 * integers. Lists begin with the newest. Calls return undefined or false for an unknown key, and
 * throw ApiError `store_unavailable` when the database cannot serve them.
 */
export interface AccountStore extends GroupStore {
  /**
   * Throws RangeError for credits that are not a whole number, negative or too large, and ApiError
   * `duplicate_request` for a name that another key has, `not_found` for an unknown group.
   */
  createKey(draft: KeyDraft): Promise<StoredKey>;
  /** As `createKey`, for keys with different names: all of them or none, in the order of the drafts. */
  createKeys(drafts: readonly KeyDraft[]): Promise<readonly StoredKey[]>;
  /**
   * Finds a key by its current secret, or by a former one that has not expired, and stores it under
   * the current `GATEWAY_SECRET`, whose mark this is. Returns disabled and expired keys too, so that the error can say
   * so.
   */
  findKeyByHash(hash: Identity, mark?: string): Promise<StoredKey | undefined>;
  findKey(keyId: KeyId): Promise<StoredKey | undefined>;
  listKeys(query: KeyQuery): Promise<KeyPage | undefined>;
  /**
   * Moves the key, if the change names a group: what runs is charged to the former one. Throws as
   * `createKey` does.
   */
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
  /**
   * Adds up the requests that ended in these UTC hours, by what `by` says: those that cost most first,
   * or the latest by time. Throws as `listUsage` does.
   */
  listUsageTotals(query: UsageTotalsQuery, signal?: StopSignal): Promise<UsageTotals>;
  /** Sums up some usage of days that are over, so that totals need not. Returns whether there may be more. */
  rollUpUsage(): Promise<boolean>;
  /** Counts a request without a record. `accept` counts requests with a record. */
  takeRate(keyId: KeyId, tokens: number): Promise<RateDecision>;
  /** Returns how a key, or a group, stands by its own limits. */
  findRate(accountId: AccountId): Promise<RateStanding | undefined>;
  /** Keeps the HMAC of a key that the backend has accepted. The latest 10,000 are kept. */
  rememberAccepted(caller: string, atMs: number): Promise<void>;
  /** Returns those accepted at this time or later, the latest last. */
  listAccepted(sinceMs: number): Promise<readonly string[]>;
}

/** How long usage is kept: a year, and one month more to compare with. */
export const USAGE_KEPT_DAYS = 400;

export interface KeySecret {
  readonly hash: Identity;
  /** Of the `GATEWAY_SECRET` with which the first hash was made, if that is known. */
  readonly mark?: string | undefined;
  readonly prefix: string;
}

/** What a key and a group have alike, from their beginning on. */
interface AccountSettings {
  readonly name: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number | null;
  /** Names, or patterns with `*`; null allows all models. */
  readonly models: readonly string[] | null;
  readonly limits: KeyLimits;
}

export interface AccountDraft extends AccountSettings {
  readonly creditsMicro: number | null;
}

export interface KeyDraft extends AccountDraft {
  readonly keyId: KeyId;
  readonly groupId: GroupId | null;
  readonly secret: KeySecret;
}

export interface GroupChange {
  readonly name?: string;
  readonly isDisabled?: boolean;
  readonly expiresAtMs?: number | null;
  readonly models?: readonly string[] | null;
  readonly limits?: Partial<KeyLimits>;
}

/** What must fit the other keys and groups. */
export interface KeyNaming {
  readonly name?: string;
  readonly groupId?: GroupId | null;
}

export interface KeyChange extends GroupChange, KeyNaming {}

/** A day of a time zone, and all that it is in. It may have 23 or 25 hours. */
export type CalendarDay = Readonly<Record<SpendWindow['per'], Period>>;

export interface Period {
  /** One more than that of the period before. */
  readonly number: number;
  /** Such as yyyy-mm-dd for a day. */
  readonly name: string;
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

export interface StoredAccount extends AccountSettings, Spent {
  readonly isDisabled: boolean;
  /** The sum of the ledger, without what is reserved. Null when the key is not prepaid. */
  readonly balanceMicro: number | null;
  readonly heldMicro: number;
  /** When it was read, in the time zone of the spend limits. */
  readonly today: CalendarDay;
}

export interface StoredKey extends StoredAccount {
  readonly keyId: KeyId;
  readonly prefix: string;
  readonly formerUntilMs: number | null;
  /** The UTC hour in which its last request ended; null for a key that was not used yet. */
  readonly lastUsedAtMs: number | null;
  /** Whether it is known by `GATEWAY_SECRET_PREVIOUS` alone, until it is used. */
  readonly isOfPreviousSecret: boolean;
  readonly group: StoredGroup | null;
  /** The group of all keys, if there is one. */
  readonly gateway: StoredGroup | null;
}

export interface KeyQuery {
  readonly limit: number;
  readonly after?: KeyId;
  readonly name?: string;
  readonly groupId?: GroupId;
  /** A part of the name in any case, the prefix or the id. */
  readonly search?: string;
  readonly isOfPreviousSecret?: boolean;
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
  /** Takes whatever is left in the place of the amount, and the account is not prepaid from then on. */
  readonly isEnd?: true;
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
  /** Without each reservation of a request and its release, which add up to nothing. */
  readonly isNet?: boolean;
}

export interface LedgerPage {
  readonly entries: readonly LedgerEntry[];
  readonly hasMore: boolean;
}

export interface UsageSpan {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly per: 'hour' | 'day' | 'month';
}

/** How much a list of usage shows unless it is told. */
export const USUAL_SPAN_MS: Readonly<Record<UsageSpan['per'], number>> = {
  hour: DAY_MS,
  day: 30 * DAY_MS,
  month: 365 * DAY_MS,
};

export interface UsageQuery extends UsageSpan {
  /** Includes all of its HMACs. Undefined selects all callers, which only the operator may do. */
  readonly caller?: Identity;
  /** Requests that ran while their key belonged to this group, or to any. */
  readonly group?: GroupId | 'any';
  /** With more rows than this, some of them are returned, and more than so many. */
  readonly atMost?: number;
}

export type UsageTotalBy = 'key' | 'group' | 'model' | 'time';

export interface UsageTotalsQuery extends UsageSpan {
  /** Not by group for a caller. */
  readonly by: UsageTotalBy;
  readonly caller?: Identity;
  readonly group?: GroupId;
  readonly model?: string;
  readonly limit: number;
}

export interface UsageTotals {
  readonly total: UsageTotal;
  readonly totals: readonly UsageTotal[];
  readonly hasMore: boolean;
}

export interface UsageSums {
  readonly requests: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly costMicro: number;
  /** What cached tokens would have cost beyond their price. */
  readonly savedMicro: number;
  readonly durationMs: number;
}

export interface UsageTotal extends UsageSums {
  /** A caller, the id of a group, a model, or a time in milliseconds as text. */
  readonly name: string;
}

export interface DetailedSums extends UsageSums {
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
}

export interface UsageRow extends DetailedSums {
  readonly startMs: number;
  readonly caller: string;
  /** Only in the usage of groups. */
  readonly groupId?: GroupId;
  readonly model: string;
}

export interface RateDecision {
  readonly refused?: 'invalid_api_key' | 'rate_limit_exceeded';
  readonly ofGroup?: GroupId;
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

/** The checks run in this order: the key, its minute, its funds, and each for the key before its group. */
export type Refusal = 'invalid_api_key' | 'rate_limit_exceeded' | 'insufficient_credits' | 'spend_limit_exceeded';

/**
 * The groups of keys in `AUTH_MODE=managed`. The funds and limits of a group hold for all its keys
 * together, and those of a key within them. Calls return undefined for an unknown group, and throw
 * as those of keys do.
 */
export interface GroupStore {
  /** Throws ApiError `duplicate_request` for a name that another group has. */
  createGroup(draft: GroupDraft): Promise<StoredGroup>;
  findGroup(groupId: GroupId): Promise<StoredGroup | undefined>;
  /** Undefined when `after` is no group. */
  listGroups(query: GroupQuery): Promise<GroupPage | undefined>;
  /** Throws ApiError `duplicate_request` for a name that another group has. */
  updateGroup(groupId: GroupId, change: GroupChange): Promise<StoredGroup | undefined>;
  /** Deletes the group with its ledger. A group that has keys stays. */
  deleteGroup(groupId: GroupId): Promise<'deleted' | 'has keys' | undefined>;
  creditGroup(groupId: GroupId, entry: CreditEntry): Promise<StoredGroup | undefined>;
  listGroupLedger(groupId: GroupId, query: LedgerQuery): Promise<LedgerPage | undefined>;
}

export interface GroupDraft extends AccountDraft {
  readonly groupId: GroupId;
}

export interface StoredGroup extends StoredAccount {
  readonly groupId: GroupId;
  readonly keys: number;
}

export interface GroupQuery {
  readonly limit: number;
  readonly after?: GroupId;
  readonly name?: string;
  /** A part of the name in any case, or the id. */
  readonly search?: string;
}

export interface GroupPage {
  readonly groups: readonly StoredGroup[];
  readonly hasMore: boolean;
}
