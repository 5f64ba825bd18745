import type { RecordedEndpoint } from '../core/ids.ts';
import type { Identity } from '../identity/identities.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { RequestId } from '../contract/ids.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import type { Usage } from '../contract/types.ts';
import type { AccountStore, Hold, RateStanding, Refusal } from './keys.ts';

/**
 * The record store. Both engines keep these promises. Every call is answered within seconds,
 * whatever the database does, and throws ApiError `store_unavailable` when the database cannot
 * serve it.
 */
export interface Store extends AccountStore {
  /**
   * Looks for a duplicate, takes the rate and the hold, and inserts the record, in one transaction
   * that is committed when the promise resolves. Of equal drafts at the same time exactly one is
   * accepted. After an error neither the record nor the hold will stay.
   */
  accept(draft: RecordDraft): Promise<Acceptance>;
  /**
   * Writes the final state once and returns the status of the record afterwards. A final record
   * stays as it is, and a record with a requested cancel ends `cancelled`, whatever the outcome
   * says. Undefined when there is no such record. The same transaction releases the hold and
   * charges the cost. After an error the outcome is not written yet: the store keeps it and retries
   * until the database takes it.
   */
  finish(requestId: RequestId, outcome: Outcome): Promise<RecordStatus | undefined>;
  /**
   * Removes a record and its hold, after the backend refused the key of the caller (401 or 403
   * before any output). A record with a requested cancel ends `cancelled` instead, because the 202
   * promised that. After an error the store retries, as with `finish`.
   */
  discard(requestId: RequestId): Promise<void>;
  /**
   * Records that a cancel was requested, if the record is unfinished. Undefined when the caller has
   * no such record.
   */
  requestCancel(caller: Identity, requestId: RequestId): Promise<CancelRequest | undefined>;
  /**
   * Returns the unfinished records of this process for which a cancel was requested, here or in
   * another process.
   */
  listCancelRequested(): Promise<readonly RequestId[]>;
  /**
   * Records the prices of this process, and returns the other prices that live processes on the
   * database use.
   */
  comparePrices(version: string): Promise<readonly string[]>;
  /**
   * Calls `heard` when such a cancel was requested in another process. A notice may be lost, so
   * `listCancelRequested` must be polled as well. Returns a function that stops it; `close` stops
   * it too.
   */
  hearCancels(heard: () => void): () => void;
  /** Returns the record of the caller. Undefined when it does not exist or has another caller. */
  find(caller: Identity, requestId: RequestId): Promise<StoredRecord | undefined>;
  /**
   * Returns the record that `accept` would call a duplicate, for times when nothing may be
   * accepted.
   */
  findDuplicate(caller: Identity, idempotency: Idempotency): Promise<StoredRecord | undefined>;
  /**
   * Returns the newest record of the caller with this idempotency key, unless the key was freed.
   */
  findByIdempotencyKey(caller: Identity, key: Identity): Promise<StoredRecord | undefined>;
  /**
   * Returns a page of the records of the caller, newest first. Undefined when `after` is not one of
   * them. Throws the reason of the signal once it has aborted.
   */
  list(caller: Identity, query: RecordQuery, signal?: StopSignal): Promise<RecordPage | undefined>;
  /**
   * Closes what dead processes left unfinished: `gateway_interrupted`, or `cancelled` after a
   * requested cancel. Releases the holds and charges the cost of an interruption. Returns how many
   * records.
   */
  recover(): Promise<number>;
  /**
   * Deletes records that ended before this time, in small steps, and returns how many. Older
   * entries of a ledger become one `carry`, so that the sum of a ledger is always the balance.
   * Usage is deleted after USAGE_KEPT_DAYS.
   */
  prune(beforeMs: number): Promise<number>;
  /**
   * Resolves when a write can be committed now, with the mark of the secret of the database;
   * undefined where it has none. Throws ApiError `store_unavailable` otherwise.
   */
  checkWritable(): Promise<string | undefined>;
  /**
   * Writes pending calls, as far as the database allows within seconds, and ends. Later calls
   * throw.
   */
  close(): Promise<void>;
}

/** The log of the store, such as a pino logger. It never gets content of a request. */
export interface StoreLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/**
 * The store cannot be opened, and a retry would not help. The message is one line for the operator.
 */
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
  /** Absent without an Idempotency-Key: such a request is never a duplicate. */
  readonly idempotency?: Idempotency;
  /** An estimate for the usage of a request whose process dies. */
  readonly estimatedInputTokens: number;
  /**
   * The key that pays, and its reservation, in managed mode. `accept` refuses the draft when the
   * key, its rate or its funds do not suffice.
   */
  readonly hold?: Hold;
}

export interface Idempotency {
  readonly key: Identity;
  readonly body: Identity;
}

export type Acceptance =
  /** The counts of the key in this minute, where it has limits per minute. */
  | { readonly kind: 'accepted'; readonly rates?: RateStanding }
  | { readonly kind: 'duplicate'; readonly record: StoredRecord }
  /** Checked after duplicates; nothing was written. */
  | { readonly kind: 'refused'; readonly code: Refusal; readonly rates?: RateStanding };

export type CancelRequest =
  | { readonly kind: 'asked'; readonly record: StoredRecord }
  | { readonly kind: 'final'; readonly record: StoredRecord };

export interface Outcome {
  readonly status: Exclude<RecordStatus, 'processing'>;
  readonly completedAtMs: number;
  readonly usage: Usage | null;
  readonly usageEstimated: boolean;
  /**
   * The charge, while the rest of the hold is released; null when the model has no price, or
   * nothing is charged.
   */
  readonly costMicro: number | null;
  readonly incompleteReason: IncompleteReason | null;
  readonly errorCode: ErrorCode | null;
  /** Nothing ran at the backend, so the caller may use the same idempotency key again. */
  readonly freesIdempotencyKey: boolean;
}

/** A record under our own names. `requests/show-record.ts` converts it to the wire format. */
export interface StoredRecord {
  readonly requestId: RequestId;
  readonly endpoint: RecordedEndpoint;
  readonly model: string;
  readonly stream: boolean;
  readonly status: RecordStatus;
  readonly createdAtMs: number;
  readonly completedAtMs: number | null;
  readonly cancelRequestedAtMs: number | null;
  readonly usage: Usage | null;
  readonly usageEstimated: boolean;
  readonly costMicro: number | null;
  readonly incompleteReason: IncompleteReason | null;
  readonly errorCode: ErrorCode | null;
}

export interface RecordQuery {
  /** 1 to 100. */
  readonly limit: number;
  /** Continues after this record. */
  readonly after?: RequestId;
  readonly status?: RecordStatus;
  readonly model?: string;
}

export interface RecordPage {
  readonly records: readonly StoredRecord[];
  readonly hasMore: boolean;
}
