import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../core/ids.ts';
import type { Hold } from '../accounts.ts';
import type { Charges, PaidRow } from '../engine/charges.ts';
import {
  CALLER,
  RECORD_COLUMNS,
  toPresent,
  type CancelRow,
  type DraftRow,
  type IdempotencyRow,
  type OutcomeRow,
  type RecordRow,
} from '../engine/rows.ts';
import type { NoteUsage } from './usage.ts';
import { inTransaction } from './transaction.ts';

export interface Lifecycle {
  /** Of what is accepted now: this process, or the one for which it runs the operation. */
  readonly owner: () => string;
  readonly charges: Charges;
  readonly noteUsage: NoteUsage;
}

/**
 * What happens to one record from its beginning to its end, and to the funds and the usage with it. Each operation runs
 * inside the transaction of a batch, which is the only writer at that moment.
 */
export function prepareLifecycle(database: Database, { owner, charges, noteUsage }: Lifecycle) {
  const insert = database.prepare<[...DraftRow, string, number | null, number | null, number | null]>(`
    INSERT INTO requests (request_id, caller, endpoint, model, stream, created_at_ms, estimated_input_tokens,
      idempotency_key, body, owner, key, held_micro, interrupted_cost_micro, status)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'processing')
    ON CONFLICT (caller, idempotency_key, body) WHERE idempotency_key IS NOT NULL DO NOTHING`);

  /**
   * Returns null when the draft became a record, else the record it repeats. `earlier` is the same draft as it was known
   * under previous secrets; the index on the present one decides the usual case with the insert alone.
   */
  function accept(draft: DraftRow, earlier: readonly IdempotencyRow[]): RecordRow | null {
    const repeated = findDuplicate(earlier);
    if (repeated !== null) return repeated;
    if (insert.run(...draft, owner(), null, null, null).changes === 1) return null;
    return findDuplicate(toPresent(draft));
  }

  /** As `accept`, for a key that pays: the duplicate is looked for first, since it is answered also when nothing is left. */
  const acceptPaid = inTransaction(
    database,
    (draft: DraftRow, earlier: readonly IdempotencyRow[], hold: Hold): PaidRow => {
      const repeated = findDuplicate([...earlier, ...toPresent(draft)]);
      if (repeated !== null) return ['duplicate', repeated];
      const [requestId, , , , , createdAtMs] = draft;
      const held = charges.takeHold(requestId, hold, createdAtMs);
      if ('refused' in held) return [held.refused, held.rates];
      insert.run(...draft, owner(), held.key, hold.heldMicro, hold.interruptedCostMicro);
      return ['accepted', held.rates];
    },
  );

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
  const prepareClose = (which: string) =>
    database
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
        cost_micro = ?,
        incomplete_reason = iif(cancel_requested_at_ms IS NULL, ?, NULL),
        error_code = iif(cancel_requested_at_ms IS NULL, ?, 'request_cancelled'),
        idempotency_key = iif(cancel_requested_at_ms IS NULL AND ?, NULL, idempotency_key)
      WHERE request_id = ? AND status = 'processing' ${which}
      RETURNING ${RECORD_COLUMNS}`)
      .raw();
  const close = prepareClose('');
  const closeFree = prepareClose('AND key IS NULL');

  /** Where nobody pays there is only the usage to note, which cannot fail alone: no savepoint is needed, and none paid for. */
  function finish(outcome: OutcomeRow): RecordRow | null {
    const closed = closeFree.get(...outcome);
    if (closed === undefined) return finishPaid(outcome);
    noteUsage(closed);
    return closed;
  }

  const finishPaid = inTransaction(database, (outcome: OutcomeRow): RecordRow | null => {
    const requestId = outcome[12];
    return end(outcome) ?? select.get(requestId) ?? null;
  });

  /** Makes an unfinished record final; undefined when there is none. */
  function end(outcome: OutcomeRow): RecordRow | undefined {
    const closed = close.get(...outcome);
    if (closed === undefined) return undefined;
    charges.settleHold(closed, outcome[1]);
    noteUsage(closed);
    return closed;
  }

  const select = database
    .prepare<[RequestId], RecordRow>(`SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = ?`)
    .raw();

  const remove = database
    .prepare<[RequestId], RecordRow>(`
    DELETE FROM requests WHERE request_id = ? AND status = 'processing' AND cancel_requested_at_ms IS NULL
    RETURNING ${RECORD_COLUMNS}`)
    .raw();

  const discard = inTransaction(database, (requestId: RequestId, nowMs: number): null => {
    const removed = remove.get(requestId);
    if (removed !== undefined) charges.settleHold(removed, nowMs);
    else end(['cancelled', nowMs, null, null, null, null, null, 0, null, null, 'request_cancelled', 0, requestId]);
    return null;
  });

  const markCancel = database
    .prepare<[number, RequestId], RecordRow>(`
    UPDATE requests SET cancel_requested_at_ms = coalesce(cancel_requested_at_ms, ?)
    WHERE request_id = ? AND status = 'processing'
    RETURNING ${RECORD_COLUMNS}`)
    .raw();

  function requestCancel(callers: readonly string[], requestId: RequestId, nowMs: number): CancelRow | null {
    const own = find(callers, requestId);
    if (own === null) return null;
    const asked = markCancel.get(nowMs, requestId);
    return asked === undefined ? ['final', own] : ['asked', asked];
  }

  function find(callers: readonly string[], requestId: RequestId): RecordRow | null {
    const row = select.get(requestId);
    return row !== undefined && callers.includes(row[CALLER]) ? row : null;
  }

  // By the index on owners, which holds unfinished records alone.
  const selectCancelRequested = database
    .prepare<[string], RequestId>(
      'SELECT request_id FROM requests WHERE owner = ? AND cancel_requested_at_ms IS NOT NULL',
    )
    .pluck();

  function listCancelRequested(): readonly RequestId[] {
    return selectCancelRequested.all(owner());
  }

  return { accept, acceptPaid, finish, discard, requestCancel, find, findDuplicate, listCancelRequested };
}
