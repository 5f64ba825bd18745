import type { GroupId, RequestId } from '../contract/ids.ts';
import type { CancelRequest, RecordPage, RecordQuery, StoredRecord } from './store.ts';

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

export interface OperatorPage extends Omit<RecordPage, 'records'> {
  readonly records: readonly OwnedRecord[];
}
