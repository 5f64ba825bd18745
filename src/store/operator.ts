import type { RequestId } from '../contract/ids.ts';
import type { CancelRequest, RecordQuery, StoredRecord } from './store.ts';

export interface OperatorStore {
  listAll(query: OperatorQuery): Promise<OperatorPage | undefined>;
  findAny(requestId: RequestId): Promise<OwnedRecord | undefined>;
  requestCancelOfAny(requestId: RequestId): Promise<CancelRequest | undefined>;
}

export interface OperatorQuery extends RecordQuery {
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
