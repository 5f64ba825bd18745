import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../contract/ids.ts';
import {
  LIST_WINDOW,
  RECORD_COLUMNS,
  type CancelRow,
  type ListedRows,
  type OperatorListStep,
  type RecordRow,
} from '../shared/rows.ts';

export function prepareOperator(database: Database) {
  const selectSeq = database.prepare<[RequestId], number>('SELECT seq FROM requests WHERE request_id = ?').pluck();

  function findPlaceOfAny(requestId: RequestId): number | null {
    return selectSeq.get(requestId) ?? null;
  }

  const selectFloor = database
    .prepare<[OperatorListStep], number>(
      `SELECT seq FROM requests WHERE seq < :beforeSeq ORDER BY seq DESC LIMIT 1 OFFSET ${LIST_WINDOW - 1}`,
    )
    .pluck();

  const selectWindow = database.prepare<[OperatorListStep & { readonly floor: number }], RecordRow>(`
    SELECT ${RECORD_COLUMNS} FROM requests
    WHERE seq < :beforeSeq AND seq >= :floor AND substr(caller, 1, length(:callerPrefix)) = :callerPrefix
      AND status = coalesce(:status, status) AND model = coalesce(:model, model)
    ORDER BY seq DESC LIMIT :limit`);

  const selectUnfinished = database.prepare<[OperatorListStep], RecordRow>(`
    SELECT ${RECORD_COLUMNS} FROM requests INDEXED BY requests_by_owner
    WHERE owner IS NOT NULL AND seq < :beforeSeq AND substr(caller, 1, length(:callerPrefix)) = :callerPrefix
      AND model = coalesce(:model, model)
    ORDER BY seq DESC LIMIT :limit`);

  function listAll(step: OperatorListStep): ListedRows {
    if (step.status === 'processing') return { rows: selectUnfinished.all(step), nextBeforeSeq: null };
    const floor = selectFloor.get(step) ?? null;
    return { rows: selectWindow.all({ ...step, floor: floor ?? 0 }), nextBeforeSeq: floor };
  }

  const select = database.prepare<[RequestId], RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = ?`,
  );

  function findAny(requestId: RequestId): RecordRow | null {
    return select.get(requestId) ?? null;
  }

  const markCancel = database.prepare<[number, RequestId]>(`
    UPDATE requests SET cancel_requested_at_ms = coalesce(cancel_requested_at_ms, ?)
    WHERE request_id = ? AND status = 'processing'`);

  function requestCancelOfAny(requestId: RequestId, nowMs: number): CancelRow | null {
    const kind = markCancel.run(nowMs, requestId).changes === 1 ? 'asked' : 'final';
    const row = select.get(requestId);
    return row === undefined ? null : { kind, record: row };
  }

  return { findPlaceOfAny, listAll, findAny, requestCancelOfAny };
}
