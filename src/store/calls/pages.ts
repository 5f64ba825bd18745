import type { GroupId, RequestId } from '../../contract/ids.ts';
import { firstRequestIdAt } from '../../core/ids.ts';
import type { PageEnd, RecordQuery } from '../../core/books/store.ts';
import type { ListedRows, ListStep } from '../rows/list-query.ts';
import type { RecordRow } from '../rows/records.ts';

export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly hasMore: boolean;
}

/** Returns the first `limit` rows. One more row shows that another page follows. */
export function toPage<Row>(found: readonly Row[], limit: number): Page<Row> {
  return { rows: found.slice(0, limit), hasMore: found.length > limit };
}

export interface RowPage extends PageEnd {
  readonly rows: readonly RecordRow[];
}

/**
 * Returns a page of these callers together, newest first; a caller is one under each secret. `null`
 * is all callers.
 */
export async function listRecords(
  takeStep: (step: ListStep) => Promise<ListedRows>,
  callers: readonly (string | null)[],
  query: RecordQuery & { readonly groupId?: GroupId },
): Promise<RowPage> {
  const { limit, groupId = null, status = null, model = null, errorCode = null } = query;
  const step = { groupId, status, model, errorCode, ...toSpan(query), limit: limit + 1 };
  const lists = await Promise.all(callers.map((caller) => takeStep({ ...step, caller })));
  // Where one list has not been searched, it may have newer records than the others have found.
  const searchedTo = lists.map((list) => list.searchedTo).reduce(newerOf, null);
  const found = lists
    .flatMap(({ rows }) => rows)
    .filter(({ requestId }) => searchedTo === null || requestId >= searchedTo)
    .sort((one, other) => (one.requestId < other.requestId ? 1 : -1));
  const rows = found.slice(0, limit);
  const last = rows.at(-1)?.requestId ?? null;
  if (found.length > limit) return { rows, hasMore: true, lastId: last };
  return { rows, hasMore: searchedTo !== null, lastId: searchedTo ?? last };
}

function newerOf(one: RequestId | null, other: RequestId | null): RequestId | null {
  if (one === null || other === null) return one ?? other;
  return one > other ? one : other;
}

/** Greater than every id. */
const END = 'req_g';

function toSpan({ after, fromMs, untilMs }: RecordQuery): { readonly from: string; readonly before: string } {
  const until = untilMs === undefined ? END : firstRequestIdAt(untilMs);
  return {
    from: fromMs === undefined ? '' : firstRequestIdAt(fromMs),
    before: after !== undefined && after < until ? after : until,
  };
}
