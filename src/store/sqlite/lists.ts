import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../contract/ids.ts';
import type { RecordStatus } from '../store.ts';
import { LIST_WINDOW, RECORD_COLUMNS, SEQ, type ListRow, type ListStep, type RecordRow } from '../shared/rows.ts';

/** Looking through the records of one caller, newest first. */
export function prepareLists(database: Database) {
  const selectSeq = database
    .prepare<[RequestId, string], number>('SELECT seq FROM requests WHERE request_id = ? AND caller = ?')
    .pluck();

  /** The place of a record in the list of its caller, who is one of these; null when it is nobody's of them. */
  function findPlace(callers: readonly string[], requestId: RequestId): number | null {
    for (const caller of callers) {
      const seq = selectSeq.get(requestId, caller);
      if (seq !== undefined) return seq;
    }
    return null;
  }

  const selectFloor = database
    .prepare<[string, number], number>(
      `SELECT seq FROM requests WHERE caller = ? AND seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ${LIST_WINDOW - 1}`,
    )
    .pluck();

  const selectWindow = database
    .prepare<[string, number, number, RecordStatus | null, string | null, number], RecordRow>(`
    SELECT ${RECORD_COLUMNS} FROM requests
    WHERE caller = ? AND seq < ? AND seq >= ? AND status = coalesce(?, status) AND model = coalesce(?, model)
    ORDER BY seq DESC LIMIT ?`)
    .raw();

  // Named, since SQLite would choose the index on callers, which leads past all records of this one.
  const selectUnfinished = database
    .prepare<[string, number, string | null, number], RecordRow>(`
    SELECT ${RECORD_COLUMNS} FROM requests INDEXED BY requests_by_owner
    WHERE owner IS NOT NULL AND caller = ? AND seq < ? AND model = coalesce(?, model)
    ORDER BY seq DESC LIMIT ?`)
    .raw();

  function list([caller, beforeSeq, status, model, limit]: ListRow): ListStep {
    if (status === 'processing') return [selectUnfinished.all(caller, beforeSeq, model, limit), null];
    const floor = selectFloor.get(caller, beforeSeq) ?? null;
    const rows = selectWindow.all(caller, beforeSeq, floor ?? 0, status, model, limit);
    return [rows, floor];
  }

  const selectByKey = database
    .prepare<[string, string], RecordRow>(`
    SELECT ${RECORD_COLUMNS} FROM requests WHERE seq = (
      SELECT max(seq) FROM requests WHERE caller = ? AND idempotency_key = ?)`)
    .raw();

  /** The newest of what the caller made under this key, under whichever secret. */
  function findByIdempotencyKey(candidates: readonly (readonly [caller: string, key: string])[]): RecordRow | null {
    let newest: RecordRow | null = null;
    for (const [caller, key] of candidates) {
      const row = selectByKey.get(caller, key);
      if (row !== undefined && (newest === null || newest[SEQ] < row[SEQ])) newest = row;
    }
    return newest;
  }

  return { findPlace, list, findByIdempotencyKey };
}
