import type { OperatorStore, OwnedRecord } from '../operator.ts';
import type { BatchQueue, CallOptions } from './batch-queue.ts';
import { listRecords } from './pages.ts';
import { toRecord, type RecordRow } from './rows.ts';

const LOOKUP: CallOptions = { isLookup: true };

export function createOperatorCalls(queue: BatchQueue, clock: () => number): OperatorStore {
  return {
    async listAll(query) {
      const { callerPrefix = '' } = query;
      const page = await listRecords(
        {
          findPlace: (requestId) => queue.call(['findPlaceOfAny', requestId], LOOKUP),
          lists: [(step) => queue.call(['listAll', { ...step, callerPrefix }], LOOKUP)],
        },
        query,
      );
      return page && { records: page.rows.map(toOwned), hasMore: page.hasMore };
    },
    async findAny(requestId) {
      const row = await queue.call(['findAny', requestId], LOOKUP);
      return row === null ? undefined : toOwned(row);
    },
    async requestCancelOfAny(requestId) {
      const found = await queue.call(['requestCancelOfAny', requestId, clock()]);
      return found === null ? undefined : { kind: found.kind, record: toRecord(found.record) };
    },
  };
}

function toOwned(row: RecordRow): OwnedRecord {
  return { ...toRecord(row), caller: row.caller };
}
