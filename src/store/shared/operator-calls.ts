import type { OperatorQuery, OperatorStore, OwnedRecord } from '../operator.ts';
import type { BatchQueue } from './batch-queue.ts';
import type { OperatorFilter } from './operations.ts';
import { CALLER, toRecord, type ListStep, type RecordRow } from './rows.ts';

/** The operator's calls of a store whose queue this is. */
export function createOperatorCalls(queue: BatchQueue, clock: () => number): OperatorStore {
  return {
    async listAll(query) {
      const beforeSeq =
        query.after === undefined
          ? Number.MAX_SAFE_INTEGER
          : await queue.call(['findPlaceOfAny', query.after], { isLookup: true });
      if (beforeSeq === null) return undefined;
      const rows = await collect(queue, beforeSeq, query);
      return { records: rows.slice(0, query.limit).map(toOwned), hasMore: rows.length > query.limit };
    },
    async findAny(requestId) {
      const row = await queue.call(['findAny', requestId], { isLookup: true });
      return row === null ? undefined : toOwned(row);
    },
    async requestCancelOfAny(requestId) {
      const found = await queue.call(['requestCancelOfAny', requestId, clock()]);
      return found === null ? undefined : { kind: found[0], record: toRecord(found[1]) };
    },
  };
}

/** One row more than asked for, if there are as many: it shows that there is another page. */
async function collect(queue: BatchQueue, firstBeforeSeq: number, query: OperatorQuery): Promise<RecordRow[]> {
  const wanted = query.limit + 1;
  const filter: OperatorFilter = [query.callerPrefix ?? '', query.status ?? null, query.model ?? null];
  const found: RecordRow[] = [];
  let beforeSeq: number | null = firstBeforeSeq;
  while (beforeSeq !== null && found.length < wanted) {
    const [rows, next]: ListStep = await queue.call(['listAll', beforeSeq, filter, wanted - found.length], {
      isLookup: true,
    });
    found.push(...rows);
    beforeSeq = next;
  }
  return found;
}

function toOwned(row: RecordRow): OwnedRecord {
  return { ...toRecord(row), caller: row[CALLER] };
}
