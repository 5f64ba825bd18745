import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../contract/ids.ts';
import type { OperatorFilter } from '../shared/operations.ts';
import { LIST_WINDOW, RECORD_COLUMNS, type CancelRow, type ListStep, type RecordRow } from '../shared/rows.ts';
import type { RecordStatus } from '../store.ts';

/** Looking through the records of all callers, newest first, and asking for a cancel of any of them. */
export function prepareOperator(database: Database) {
  const selectSeq = database.prepare<[RequestId], number>('SELECT seq FROM requests WHERE request_id = ?').pluck();

  function findPlaceOfAny(requestId: RequestId): number | null {
    return selectSeq.get(requestId) ?? null;
  }

  const selectFloor = database
    .prepare<[number], number>(
      `SELECT seq FROM requests WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ${LIST_WINDOW - 1}`,
    )
    .pluck();

  const selectWindow = database
    .prepare<[number, number, string, string, RecordStatus | null, string | null, number], RecordRow>(`
    SELECT ${RECORD_COLUMNS} FROM requests
    WHERE seq < ? AND seq >= ? AND substr(caller, 1, length(?)) = ?
      AND status = coalesce(?, status) AND model = coalesce(?, model)
    ORDER BY seq DESC LIMIT ?`)
    .raw();

  const selectUnfinished = database
    .prepare<[number, string, string, string | null, number], RecordRow>(`
    SELECT ${RECORD_COLUMNS} FROM requests INDEXED BY requests_by_owner
    WHERE owner IS NOT NULL AND seq < ? AND substr(caller, 1, length(?)) = ? AND model = coalesce(?, model)
    ORDER BY seq DESC LIMIT ?`)
    .raw();

  function listAll(beforeSeq: number, [callerPrefix, status, model]: OperatorFilter, limit: number): ListStep {
    if (status === 'processing')
      return [selectUnfinished.all(beforeSeq, callerPrefix, callerPrefix, model, limit), null];
    const floor = selectFloor.get(beforeSeq) ?? null;
    return [selectWindow.all(beforeSeq, floor ?? 0, callerPrefix, callerPrefix, status, model, limit), floor];
  }

  const select = database
    .prepare<[RequestId], RecordRow>(`SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = ?`)
    .raw();

  function findAny(requestId: RequestId): RecordRow | null {
    return select.get(requestId) ?? null;
  }

  const markCancel = database.prepare<[number, RequestId]>(`
    UPDATE requests SET cancel_requested_at_ms = coalesce(cancel_requested_at_ms, ?)
    WHERE request_id = ? AND status = 'processing'`);

  function requestCancelOfAny(requestId: RequestId, nowMs: number): CancelRow | null {
    const kind = markCancel.run(nowMs, requestId).changes === 1 ? 'asked' : 'final';
    const row = select.get(requestId);
    if (row === undefined) return null;
    return [kind, row];
  }

  return { findPlaceOfAny, listAll, findAny, requestCancelOfAny };
}
