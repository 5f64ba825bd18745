import { MOST_CALLERS, type OperatorStore, type OwnedRecord } from '../../core/books/store.ts';
import type { BatchQueue, CallOptions } from '../queue/batch-queue.ts';
import { listRecords } from './pages.ts';
import { toRecord, type RecordRow } from '../rows/records.ts';

const LOOKUP: CallOptions = { isLookup: true };
const LIST: CallOptions = { isLookup: true, isList: true };

export function createOperatorCalls(queue: BatchQueue, clock: () => number): OperatorStore {
  const findCallers = (prefix: string) => queue.call(['findCallers', prefix, MOST_CALLERS + 1], LIST);

  return {
    async listAll(query) {
      const { callerPrefix = '' } = query;
      const callers = callerPrefix === '' ? [null] : await findCallers(callerPrefix);
      if (callers.length > MOST_CALLERS) return undefined;
      const { rows, ...page } = await listRecords((step) => queue.call(['list', step], LIST), callers, query);
      return { ...page, records: rows.map(toOwned) };
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
  return { ...toRecord(row), caller: row.caller, groupId: row.groupId };
}
