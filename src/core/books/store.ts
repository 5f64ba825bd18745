import type { Identity, RecordedEndpoint } from '../ids.ts';
import type { RateCorrection, RateStanding } from '../money/rates.ts';
import type { ErrorCode } from '../errors.ts';
import type { GroupId, RequestId } from '../../contract/ids.ts';
import type { StopSignal } from '../stop-signal.ts';
import type { Usage } from '../../contract/types.ts';
import type { AlertStore } from './alerts.ts';
import type { RequestStatsStore } from './request-stats.ts';
import type { AccountStore, Hold, Refusal } from './keys.ts';

/**
 * Every call is answered within seconds, and throws ApiError `store_unavailable` when the database
 * cannot serve it. Calls return undefined when there is no such record. Lists begin with the
 * newest.
 */
export interface Store extends AccountStore, OperatorStore, AlertStore, RequestStatsStore {
  /**
   * Looks for a duplicate, takes the rate and the hold, and inserts the record in one transaction,
   * which is committed when the promise resolves. Of equal drafts exactly one is accepted. After an
   * error neither the record nor the hold will stay, so a record that may still be undone is no
   * duplicate: the draft then throws ApiError `store_unavailable`.
   */
  accept(draft: RecordDraft): Promise<Acceptance>;
  /**
   * Writes the final state once, releases the hold, charges the cost, corrects the rate and returns
   * the status afterwards. A record with a requested cancel ends `cancelled`, whatever the outcome
   * says. After an error the store retries until the database takes it.
   */
  finish(requestId: RequestId, outcome: Outcome, correction?: RateCorrection | null): Promise<RecordStatus | undefined>;
  /**
   * Writes a record that was never accepted in its final state, in the place of `accept` and
   * `finish`. The draft has neither an idempotency key nor a hold. After an error no record will
   * stay.
   */
  record(draft: RecordDraft, outcome: Outcome): Promise<void>;
  /**
   * Removes a record and its hold, after the backend refused the key of the caller. A record with a
   * requested cancel ends `cancelled`, because the 202 promised that. Corrects, returns and retries
   * as `finish` does.
   */
  discard(requestId: RequestId, correction?: RateCorrection | null): Promise<RecordStatus | undefined>;
  requestCancel(caller: Identity, requestId: RequestId): Promise<CancelRequest | undefined>;
  /** Also answers other processes that ask whether a request of this one runs. */
  listCancelRequested(): Promise<readonly RequestId[]>;
  /** Records the prices of this process, and returns others that live processes use. */
  comparePrices(version: string): Promise<readonly string[]>;
  /** Returns another currency in which something was charged before. It is told once, by the first call with the new one. */
  noteCurrency(currency: string): Promise<string | undefined>;
  /**
   * Calls `heard` when another process requests a cancel, until the returned function is called. A
   * notice may be lost, so `listCancelRequested` must be polled as well.
   */
  hearCancels(heard: () => void): () => void;
  find(caller: Identity, requestId: RequestId): Promise<StoredRecord | undefined>;
  /** Returns what `accept` would call a duplicate, for times when nothing may be accepted. */
  findDuplicate(caller: Identity, idempotency: Idempotency): Promise<StoredRecord | undefined>;
  findByIdempotencyKey(caller: Identity, key: Identity): Promise<StoredRecord | undefined>;
  /** Reads a bounded number of records. Throws the reason of a signal that has aborted. */
  list(caller: Identity, query: RecordQuery, signal?: StopSignal): Promise<RecordPage>;
  /**
   * Ends the records of dead processes: `gateway_interrupted`, or `cancelled` after a requested
   * cancel. Returns how many.
   */
  recover(): Promise<number>;
  /**
   * Deletes records that ended before this time, and returns how many. Older entries of a ledger
   * become one `carry`, so that the sum of a ledger is always the balance.
   */
  prune(beforeMs: number): Promise<number>;
  /** Whether a call failed a moment ago, so that the next one may fail as well. */
  isFailing(): boolean;
  /** Resolves when a write can be committed now, with the mark of the secret if there is one. */
  checkWritable(): Promise<string | undefined>;
  /** Writes pending calls, as far as the database allows within seconds. Later calls throw. */
  close(): Promise<void>;
}

/** Never gets content of a request. */
export interface StoreLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** A retry does not help. The message is one line for the operator. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
}

export type RecordStatus = 'processing' | 'succeeded' | 'failed' | 'cancelled';
export type IncompleteReason = 'max_output_tokens' | 'content_filter';

export interface RecordDraft {
  readonly requestId: RequestId;
  readonly caller: Identity;
  readonly endpoint: RecordedEndpoint;
  readonly model: string;
  readonly stream: boolean;
  readonly createdAtMs: number;
  readonly idempotency?: Idempotency;
  /** An estimate for the usage of a request whose process dies. */
  readonly estimatedInputTokens: number;
  readonly hold?: Hold;
}

export interface Idempotency {
  readonly key: Identity;
  readonly body: Identity;
}

export type Acceptance =
  | { readonly kind: 'accepted'; readonly rates?: RateStanding }
  | { readonly kind: 'duplicate'; readonly record: StoredRecord }
  | {
      readonly kind: 'refused';
      readonly code: Refusal;
      readonly rates?: RateStanding;
      /** The key itself would do. */
      readonly ofGroup?: GroupId;
    };

export type CancelRequest =
  | { readonly kind: 'asked'; readonly record: StoredRecord }
  | { readonly kind: 'final'; readonly record: StoredRecord };

/** What came of a request. */
interface Result {
  readonly usage: Usage | null;
  readonly usageEstimated: boolean;
  readonly costMicro: number | null;
  readonly incompleteReason: IncompleteReason | null;
  readonly errorCode: ErrorCode | null;
  /** The backend that was asked last, by its name in `BACKENDS_FILE`. */
  readonly upstream: string | null;
  readonly promptTurn: PromptTurn | null;
  /** What the cached tokens would have cost beyond their price; null without a price. */
  readonly savedMicro: number | null;
}

export interface Outcome extends Result {
  readonly status: Exclude<RecordStatus, 'processing'>;
  readonly completedAtMs: number;
  /** Nothing ran at the backend, so the caller may use the same idempotency key again. */
  readonly freesIdempotencyKey: boolean;
}

/** Whether the prompt of a request is that of the one before it with more behind it, or who has changed its first part that differs. */
export type PromptTurn =
  | { readonly turn: 'first' | 'extended' }
  | { readonly turn: 'broken'; readonly at: string; readonly by: 'client' | 'settings' | 'gateway' };

export interface StoredRecord extends Result {
  readonly requestId: RequestId;
  readonly endpoint: RecordedEndpoint;
  readonly model: string;
  readonly stream: boolean;
  readonly status: RecordStatus;
  readonly createdAtMs: number;
  readonly completedAtMs: number | null;
  readonly cancelRequestedAtMs: number | null;
}

export interface RecordQuery {
  /** 1 to 100. */
  readonly limit: number;
  /** The page continues below this id, whether or not it has a record. */
  readonly after?: RequestId;
  readonly status?: RecordStatus;
  readonly model?: string;
  readonly errorCode?: ErrorCode;
  /** Requests that arrived from this time on, and before the other: the ids have the time. */
  readonly fromMs?: number;
  readonly untilMs?: number;
}

export interface PageEnd {
  readonly hasMore: boolean;
  /** The `after` of the next page; null when the page is empty and the last. */
  readonly lastId: RequestId | null;
}

export interface RecordPage extends PageEnd {
  /** May be fewer than the limit, even none, while older records may fit. */
  readonly records: readonly StoredRecord[];
}

/** What the operator sees and does, of all callers. */
export interface OperatorStore {
  /** Undefined when more callers than MOST_CALLERS begin with `callerPrefix`. */
  listAll(query: OperatorQuery): Promise<OperatorPage | undefined>;
  findAny(requestId: RequestId): Promise<OwnedRecord | undefined>;
  requestCancelOfAny(requestId: RequestId): Promise<CancelRequest | undefined>;
}

export const MOST_CALLERS = 16;

export interface OperatorQuery extends RecordQuery {
  readonly callerPrefix?: string;
  readonly groupId?: GroupId;
}

/** A record with its caller: the key id in managed mode, else the HMAC of a key. */
export interface OwnedRecord extends StoredRecord {
  readonly caller: string;
  /** That of the key when the request was accepted. */
  readonly groupId: GroupId | null;
}

export interface OperatorPage extends PageEnd {
  readonly records: readonly OwnedRecord[];
}
