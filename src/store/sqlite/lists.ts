import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../contract/ids.ts';
import {
  LIST_WINDOW,
  RECORD_COLUMNS,
  type CallerListStep,
  type IdempotencyRow,
  type ListedRows,
  type RecordRow,
} from '../shared/rows.ts';

export function prepareLists(database: Database) {
  const selectSeq = database
    .prepare<[RequestId, string], number>('SELECT seq FROM requests WHERE request_id = ? AND caller = ?')
    .pluck();

  function findPlace(callers: readonly string[], requestId: RequestId): number | null {
    for (const caller of callers) {
      const seq = selectSeq.get(requestId, caller);
      if (seq !== undefined) return seq;
    }
    return null;
  }

  const selectFloor = database
    .prepare<[CallerListStep], number>(
      `SELECT seq FROM requests WHERE caller = :caller AND seq < :beforeSeq ORDER BY seq DESC LIMIT 1 OFFSET ${LIST_WINDOW - 1}`,
    )
    .pluck();

  const selectWindow = database.prepare<[CallerListStep & { readonly floor: number }], RecordRow>(`
    SELECT ${RECORD_COLUMNS} FROM requests
    WHERE caller = :caller AND seq < :beforeSeq AND seq >= :floor
      AND status = coalesce(:status, status) AND model = coalesce(:model, model)
    ORDER BY seq DESC LIMIT :limit`);

  // SQLite would choose the index on callers, which leads through all records of the caller.
  const selectUnfinished = database.prepare<[CallerListStep], RecordRow>(`
    SELECT ${RECORD_COLUMNS} FROM requests INDEXED BY requests_by_owner
    WHERE owner IS NOT NULL AND caller = :caller AND seq < :beforeSeq AND model = coalesce(:model, model)
    ORDER BY seq DESC LIMIT :limit`);

  function list(step: CallerListStep): ListedRows {
    if (step.status === 'processing') return { rows: selectUnfinished.all(step), nextBeforeSeq: null };
    const floor = selectFloor.get(step) ?? null;
    return { rows: selectWindow.all({ ...step, floor: floor ?? 0 }), nextBeforeSeq: floor };
  }

  const selectByKey = database.prepare<[Omit<IdempotencyRow, 'body'>], RecordRow>(`
    SELECT ${RECORD_COLUMNS} FROM requests WHERE seq = (
      SELECT max(seq) FROM requests WHERE caller = :caller AND idempotency_key = :idempotencyKey)`);

  function findByIdempotencyKey(candidates: readonly Omit<IdempotencyRow, 'body'>[]): RecordRow | null {
    const found = candidates.flatMap((candidate) => selectByKey.get(candidate) ?? []);
    return found.sort((one, other) => other.seq - one.seq)[0] ?? null;
  }

  return { findPlace, list, findByIdempotencyKey };
}
