import type { RecordedEndpoint } from '../core/ids.ts';
import type { Identity } from '../identity/identities.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { RequestId } from '../contract/ids.ts';
import type { StopSignal } from '../core/stop-signal.ts';
import type { Usage } from '../contract/types.ts';
import type { AccountStore, Hold, RateStanding, Refusal } from './keys.ts';

/**
 * The promises of the record store (contract, section 6). Every engine keeps the same ones; every call is asynchronous,
 * is answered within seconds whatever the database does, and throws ApiError `store_unavailable` when it cannot be served.
 */
export interface Store extends AccountStore {
  /**
   * Looks for a duplicate, takes the rate and the hold and inserts the record, in one transaction that is committed when the
   * promise resolves. Of any number of equal drafts at once exactly one is accepted. A throw means that no record of it will stay,
   * and no hold.
   */
  accept(draft: RecordDraft): Promise<Acceptance>;
  /**
   * Writes the final state once and returns the status which the record has from then on. A record that is final already is not
   * changed, and one with a cancel asked for ends `cancelled` whatever the outcome says. Undefined when there is no such record.
   * The transaction which makes the record final, and no other, releases its hold and charges what it has cost.
   * A throw says only that it is not written yet: the store keeps the outcome and tries on until the database takes it.
   */
  finish(requestId: RequestId, outcome: Outcome): Promise<RecordStatus | undefined>;
  /**
   * Takes back a record, with its hold, which a stranger's key caused (the backend said 401 or 403 before any output). One with a cancel
   * asked for ends `cancelled` instead, since that was promised. After a throw the store tries on, as with `finish`.
   */
  discard(requestId: RequestId): Promise<void>;
  /** Notes that a cancel was asked for, when the record is still unfinished. Undefined when the caller has no such record. */
  requestCancel(caller: Identity, requestId: RequestId): Promise<CancelRequest | undefined>;
  /**
   * The unfinished records of this process for which somebody has asked for a cancel, perhaps by another process: whoever
   * runs them ends them.
   */
  listCancelRequested(): Promise<readonly RequestId[]>;
  /** Notes which prices this process goes by, and returns which others the living processes on the database go by. */
  comparePrices(version: string): Promise<readonly string[]>;
  /**
   * Calls `heard` when another process was asked for such a cancel, as soon as this one hears of it: which may be never,
   * so that who runs anything looks now and then. Returns a function that ends it, as `close` does.
   */
  hearCancels(heard: () => void): () => void;
  /** The caller's record of this id. Undefined when it does not exist or is another caller's. */
  find(caller: Identity, requestId: RequestId): Promise<StoredRecord | undefined>;
  /** The record which `accept` would call a duplicate of such a draft; for the moments when nothing may be accepted. */
  findDuplicate(caller: Identity, idempotency: Idempotency): Promise<StoredRecord | undefined>;
  /** The newest record which this caller made under this idempotency key, unless the key was freed. */
  findByIdempotencyKey(caller: Identity, key: Identity): Promise<StoredRecord | undefined>;
  /**
   * The caller's own records, newest first. Undefined when `after` is not one of them. Looks no further once the signal has
   * aborted, and throws its reason.
   */
  list(caller: Identity, query: RecordQuery, signal?: StopSignal): Promise<RecordPage | undefined>;
  /**
   * Closes what dead processes left unfinished: `gateway_interrupted`, or `cancelled` where that was asked for. Releases
   * what they held and charges the cost of an interruption. Returns how many.
   */
  recover(): Promise<number>;
  /**
   * Deletes records that ended before this time, in small steps, and returns how many. Entries of the ledgers from before
   * become one `carry` each key, so that the sum of a ledger is always the balance; usage goes after USAGE_KEPT_DAYS.
   */
  prune(beforeMs: number): Promise<number>;
  /**
   * Resolves when a write could be committed now, with the mark of the secret by which the keys and
   * records of the database are known; undefined where it has none. Throws ApiError
   * `store_unavailable` otherwise.
   */
  checkWritable(): Promise<string | undefined>;
  /** Writes what waits, as far as the database lets it within seconds, and ends. Later calls throw. */
  close(): Promise<void>;
}

/** Where the store tells its operator what happens to it. A pino logger is one. Nothing of a request is ever said. */
export interface StoreLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** The store cannot be opened, and trying again would not help: the message is one line for the operator. */
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
  /** Absent when the caller sent no Idempotency-Key: such a request is never a duplicate. */
  readonly idempotency?: Idempotency;
  /** Input tokens by arithmetic, for the usage of a request whose process dies. */
  readonly estimatedInputTokens: number;
  /** In managed mode: whose key, and what to reserve. Refused by `accept` when the key, its rate or its funds do not allow it. */
  readonly hold?: Hold;
}

export interface Idempotency {
  readonly key: Identity;
  readonly body: Identity;
}

export type Acceptance =
  /** With how its key stands in this minute then, where it has limits per minute. */
  | { readonly kind: 'accepted'; readonly rates?: RateStanding }
  | { readonly kind: 'duplicate'; readonly record: StoredRecord }
  /** Looked at after duplicates; nothing was written. */
  | { readonly kind: 'refused'; readonly code: Refusal; readonly rates?: RateStanding };

export type CancelRequest =
  | { readonly kind: 'asked'; readonly record: StoredRecord }
  | { readonly kind: 'final'; readonly record: StoredRecord };

export interface Outcome {
  readonly status: Exclude<RecordStatus, 'processing'>;
  readonly completedAtMs: number;
  readonly usage: Usage | null;
  readonly usageEstimated: boolean;
  /** What the key is charged while the rest of the hold is released; null when the model has no price, or nothing is charged. */
  readonly costMicro: number | null;
  readonly incompleteReason: IncompleteReason | null;
  readonly errorCode: ErrorCode | null;
  /** Nothing ran at the backend, so the caller may use the same idempotency key again. */
  readonly freesIdempotencyKey: boolean;
}

/** One row, in our own names. `http` turns it into the record of the contract. */
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
  /** Continue after this record. */
  readonly after?: RequestId;
  readonly status?: RecordStatus;
  readonly model?: string;
}

export interface RecordPage {
  readonly records: readonly StoredRecord[];
  readonly hasMore: boolean;
}
