import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../core/ids.ts';
import { RECORD_COLUMNS, type DraftRow, type OutcomeRow, type RecordRow } from './rows.ts';

/** Caller, idempotency key and body, all as HMACs of one secret. */
export type IdempotencyRow = readonly [caller: string, idempotencyKey: string, body: string];

export type CancelRow = readonly [kind: 'asked' | 'final', record: RecordRow];

/**
 * What happens to one record from its beginning to its end. Each operation runs inside the transaction of a batch, which
 * is the only writer at that moment. `owner` is this process.
 */
export function prepareLifecycle(database: Database, owner: string) {
  const insert = database.prepare<[...DraftRow, string]>(`
    INSERT INTO requests (request_id, caller, endpoint, model, stream, created_at_ms, estimated_input_tokens,
      idempotency_key, body, owner, status)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'processing')
    ON CONFLICT (caller, idempotency_key, body) WHERE idempotency_key IS NOT NULL DO NOTHING`);

  /**
   * Returns null when the draft became a record, else the record it repeats. `earlier` is the same draft as it was known
   * under previous secrets; the index on the present one decides the usual case with the insert alone.
   */
  function accept(draft: DraftRow, earlier: readonly IdempotencyRow[]): RecordRow | null {
    const repeated = findDuplicate(earlier);
    if (repeated !== null) return repeated;
    if (insert.run(...draft, owner).changes === 1) return null;
    const [, caller, , , , , , key, body] = draft;
    return key === null || body === null ? null : findDuplicate([[caller, key, body]]);
  }

  const selectDuplicate = database
    .prepare<[string, string, string], RecordRow>(
      `SELECT ${RECORD_COLUMNS} FROM requests WHERE caller = ? AND idempotency_key = ? AND body = ?`,
    )
    .raw();

  function findDuplicate(candidates: readonly IdempotencyRow[]): RecordRow | null {
    for (const [caller, key, body] of candidates) {
      const row = selectDuplicate.get(caller, key, body);
      if (row !== undefined) return row;
    }
    return null;
  }

  // The promise of a 202 is kept here: whoever asked for a cancel before this transaction gets `cancelled`.
  const close = database
    .prepare<[...OutcomeRow], RecordRow>(`
    UPDATE requests SET
      owner = NULL,
      status = iif(cancel_requested_at_ms IS NULL, ?, 'cancelled'),
      completed_at_ms = ?,
      input_tokens = ?,
      cached_tokens = ?,
      output_tokens = ?,
      reasoning_tokens = ?,
      total_tokens = ?,
      usage_estimated = ?,
      incomplete_reason = iif(cancel_requested_at_ms IS NULL, ?, NULL),
      error_code = iif(cancel_requested_at_ms IS NULL, ?, 'request_cancelled'),
      idempotency_key = iif(cancel_requested_at_ms IS NULL AND ?, NULL, idempotency_key)
    WHERE request_id = ? AND status = 'processing'
    RETURNING ${RECORD_COLUMNS}`)
    .raw();

  function finish(outcome: OutcomeRow): RecordRow | null {
    const requestId = outcome[11];
    return close.get(...outcome) ?? select.get(requestId) ?? null;
  }

  const select = database
    .prepare<[RequestId], RecordRow>(`SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = ?`)
    .raw();

  const remove = database.prepare<[RequestId]>(
    `DELETE FROM requests WHERE request_id = ? AND status = 'processing' AND cancel_requested_at_ms IS NULL`,
  );

  function discard(requestId: RequestId, nowMs: number): null {
    if (remove.run(requestId).changes === 0) {
      close.get('cancelled', nowMs, null, null, null, null, null, 0, null, 'request_cancelled', 0, requestId);
    }
    return null;
  }

  const selectCaller = database
    .prepare<[RequestId], string>('SELECT caller FROM requests WHERE request_id = ?')
    .pluck();

  const markCancel = database
    .prepare<[number, RequestId], RecordRow>(`
    UPDATE requests SET cancel_requested_at_ms = coalesce(cancel_requested_at_ms, ?)
    WHERE request_id = ? AND status = 'processing'
    RETURNING ${RECORD_COLUMNS}`)
    .raw();

  function requestCancel(callers: readonly string[], requestId: RequestId, nowMs: number): CancelRow | null {
    if (!isOwn(callers, requestId)) return null;
    const asked = markCancel.get(nowMs, requestId);
    if (asked !== undefined) return ['asked', asked];
    const final = select.get(requestId);
    return final === undefined ? null : ['final', final];
  }

  function find(callers: readonly string[], requestId: RequestId): RecordRow | null {
    return isOwn(callers, requestId) ? (select.get(requestId) ?? null) : null;
  }

  function isOwn(callers: readonly string[], requestId: RequestId): boolean {
    const caller = selectCaller.get(requestId);
    return caller !== undefined && callers.includes(caller);
  }

  return { accept, finish, discard, requestCancel, find, findDuplicate };
}
