import type { RequestId } from '../contract/ids.ts';
import type { CancelRequest, RecordQuery, StoredRecord } from './store.ts';

/**
 * The records of all callers, for the operator. Every call fails as the calls of the record store
 * do.
 */
export interface OperatorStore {
  /** Returns a page, newest first. Undefined when there is no record `after`. */
  listAll(query: OperatorQuery): Promise<OperatorPage | undefined>;
  findAny(requestId: RequestId): Promise<OwnedRecord | undefined>;
  /** As `requestCancel`, for the record of any caller. */
  requestCancelOfAny(requestId: RequestId): Promise<CancelRequest | undefined>;
}

export interface OperatorQuery extends RecordQuery {
  /** Selects callers that begin so: a key id, or the first characters of an HMAC. */
  readonly callerPrefix?: string;
}

/** A record with its caller: the key id in managed mode, else the HMAC of a key. */
export interface OwnedRecord extends StoredRecord {
  readonly caller: string;
}

export interface OperatorPage {
  readonly records: readonly OwnedRecord[];
  readonly hasMore: boolean;
}
