import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../contract/ids.ts';
import { RECORD_COLUMNS, type CancelRow, type RecordRow } from '../shared/rows.ts';

export function prepareOperator(database: Database) {
  // Goes from one caller to the next by the index, whatever number of records they have.
  const selectCallers = database
    .prepare<[{ readonly prefix: string; readonly limit: number }], string>(
      `WITH RECURSIVE found (caller) AS (
        SELECT min(caller) FROM requests WHERE caller >= :prefix
        UNION ALL
        SELECT (SELECT min(caller) FROM requests WHERE caller > found.caller) FROM found
        WHERE substr(found.caller, 1, length(:prefix)) = :prefix)
      SELECT caller FROM found WHERE substr(caller, 1, length(:prefix)) = :prefix LIMIT :limit`,
    )
    .pluck();

  function findCallers(prefix: string, limit: number): readonly string[] {
    return selectCallers.all({ prefix, limit });
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

  return { findCallers, findAny, requestCancelOfAny };
}
