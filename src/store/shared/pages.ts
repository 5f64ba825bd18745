import type { RequestId } from '../../contract/ids.ts';
import type { StopSignal } from '../../core/stop-signal.ts';
import type { RecordQuery } from '../store.ts';
import type { ListedRows, ListStep, RecordRow } from './rows.ts';

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
}

/** Returns the first `limit` rows. One more row shows that another page follows. */
export function toPage<Row>(found: readonly Row[], limit: number): Page<Row> {
  return { rows: found.slice(0, limit), hasMore: found.length > limit };
}

export interface RecordLists {
  readonly findPlace: (requestId: RequestId) => Promise<number | null>;
  /** A caller has one list under each secret. */
  readonly lists: readonly ((step: ListStep) => Promise<ListedRows>)[];
}

/** Returns a page of all lists, newest first; undefined when they do not have `query.after`. */
export async function listRecords(
  { findPlace, lists }: RecordLists,
  query: RecordQuery,
  signal?: StopSignal,
): Promise<Page<RecordRow> | undefined> {
  const beforeSeq = query.after === undefined ? Number.MAX_SAFE_INTEGER : await findPlace(query.after);
  if (beforeSeq === null) return undefined;
  const found = await Promise.all(lists.map((takeStep) => collect(takeStep, { query, beforeSeq, signal })));
  const newestFirst = found.flat().sort((one, other) => other.seq - one.seq);
  return toPage(newestFirst, query.limit);
}

interface Search {
  readonly query: RecordQuery;
  readonly beforeSeq: number;
  readonly signal: StopSignal | undefined;
}

async function collect(takeStep: RecordLists['lists'][number], search: Search): Promise<readonly RecordRow[]> {
  const { status = null, model = null, limit } = search.query;
  const wanted = limit + 1;
  const found: RecordRow[] = [];
  let beforeSeq: number | null = search.beforeSeq;
  while (beforeSeq !== null && found.length < wanted) {
    search.signal?.throwIfAborted();
    const step: ListedRows = await takeStep({ beforeSeq, status, model, limit: wanted - found.length });
    found.push(...step.rows);
    beforeSeq = step.nextBeforeSeq;
  }
  return found;
}
