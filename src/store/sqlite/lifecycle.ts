import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../contract/ids.ts';
import type { RateCorrection } from '../../core/money/rates.ts';
import type { Hold } from '../keys.ts';
import type { Charges, PaidRow } from '../shared/charges.ts';
import { isOver } from '../shared/deadline.ts';
import {
  closeRecord,
  isFinal,
  isUnconfirmed,
  RECORD_COLUMNS,
  toDiscardedRow,
  toNewRecord,
  toPresent,
  type AskedRow,
  type CancelRow,
  type DraftRow,
  type IdempotencyRow,
  type OutcomeRow,
  type RecordRow,
} from '../shared/rows.ts';
import type { RecordStatus } from '../store.ts';
import { rowStatements } from './row-statements.ts';

type InsertRow = DraftRow &
  Pick<RecordRow, 'key' | 'groupId' | 'heldMicro'> & {
    readonly owner: string;
    readonly interruptedCostMicro: number | null;
  };

/** No statement uses the number. */
const NOBODY_PAYS = { seq: 0, key: null, groupId: null };
const NO_HOLD = { key: null, groupId: null, heldMicro: null, interruptedCostMicro: null };

export interface Lifecycle {
  readonly owner: () => string;
  readonly charges: Charges;
}

/** Each operation runs inside the transaction of a batch, which is the only writer then. */
export function prepareLifecycle(database: Database, { owner, charges }: Lifecycle) {
  const prepareRow = rowStatements(database);
  const insert = prepareRow<InsertRow>(`
    INSERT INTO requests (request_id, caller, endpoint, model, stream, created_at_ms, estimated_input_tokens,
      idempotency_key, body, owner, key, group_id, held_micro, interrupted_cost_micro, status)
    VALUES (:requestId, :caller, :endpoint, :model, :stream, :createdAtMs, :estimatedInputTokens, :idempotencyKey,
      :body, :owner, :key, :groupId, :heldMicro, :interruptedCostMicro, 'processing')
    ON CONFLICT (caller, idempotency_key, body) WHERE idempotency_key IS NOT NULL DO NOTHING`);

  /** The index on the current secret decides the usual case with the insert alone. */
  function accept(draft: DraftRow, earlier: readonly IdempotencyRow[]): RecordRow | 'late' | null {
    if (isOver(draft)) return 'late';
    const repeated = findDuplicate(earlier);
    if (repeated !== null) return repeated;
    if (insert.run({ ...draft, ...NO_HOLD, owner: owner() }).changes === 1) return null;
    return findDuplicate(toPresent(draft));
  }

  /** A duplicate comes first, because it is answered even when the funds are used up. */
  function acceptPaid(draft: DraftRow, earlier: readonly IdempotencyRow[], hold: Hold): PaidRow {
    if (isOver(draft)) return { kind: 'late', rates: null };
    const repeated = findDuplicate([...earlier, ...toPresent(draft)]);
    if (repeated !== null) return { kind: 'duplicate', record: repeated };
    const held = charges.takeHold(draft.requestId, hold, draft.createdAtMs);
    if ('refused' in held) return { kind: held.refused, ofGroup: held.ofGroup, rates: held.rates };
    const { heldMicro, interruptedCostMicro } = hold;
    const { seq: key, groupId } = held.key;
    insert.run({ ...draft, owner: owner(), key, groupId, heldMicro, interruptedCostMicro });
    return { kind: 'accepted', rates: held.rates };
  }

  const selectDuplicate = database.prepare<[IdempotencyRow], RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM requests WHERE caller = :caller AND idempotency_key = :idempotencyKey AND body = :body`,
  );

  function findDuplicate(candidates: readonly IdempotencyRow[]): RecordRow | null {
    for (const candidate of candidates) {
      const row = selectDuplicate.get(candidate);
      if (row !== undefined) return row;
    }
    return null;
  }

  // A statement with RETURNING takes half as long again, so the record is read first.
  const select = database.prepare<[RequestId], RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = ?`,
  );
  const close = prepareRow<RecordRow>(`
    UPDATE requests SET owner = NULL, status = :status, completed_at_ms = :completedAtMs, input_tokens = :inputTokens,
      cached_tokens = :cachedTokens, cache_write_tokens = :cacheWriteTokens, output_tokens = :outputTokens,
      reasoning_tokens = :reasoningTokens, total_tokens = :totalTokens, usage_estimated = :usageEstimated, cost_micro = :costMicro,
      incomplete_reason = :incompleteReason, error_code = :errorCode,
      upstream = :upstream
    WHERE seq = :seq`);
  const freeIdempotencyKey = database.prepare<[number]>('UPDATE requests SET idempotency_key = NULL WHERE seq = ?');

  function finish(outcome: OutcomeRow, correction: RateCorrection | null): RecordStatus | null {
    const record = select.get(outcome.requestId);
    if (record === undefined) return null;
    return isFinal(record) ? record.status : end(record, outcome, correction);
  }

  function end(record: RecordRow, outcome: OutcomeRow, correction: RateCorrection | null): RecordStatus {
    const closed = closeRecord(record, outcome);
    close.run(closed);
    if (outcome.freesIdempotencyKey && record.cancelRequestedAtMs === null) freeIdempotencyKey.run(record.seq);
    charges.end(closed);
    charges.correctRate(closed, correction);
    return closed.status;
  }

  const insertEnded = prepareRow<DraftRow & RecordRow>(`
    INSERT INTO requests (request_id, caller, endpoint, model, stream, created_at_ms, estimated_input_tokens, status,
      completed_at_ms, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens, total_tokens,
      usage_estimated, cost_micro, incomplete_reason, error_code, upstream)
    VALUES (:requestId, :caller, :endpoint, :model, :stream, :createdAtMs, :estimatedInputTokens, :status,
      :completedAtMs, :inputTokens, :cachedTokens, :cacheWriteTokens, :outputTokens, :reasoningTokens, :totalTokens,
      :usageEstimated, :costMicro, :incompleteReason, :errorCode, :upstream)`);

  /** One insert, since an insert, a look and an update would take 40 % longer. */
  function record(draft: DraftRow, outcome: OutcomeRow): 'late' | null {
    if (isOver(draft)) return 'late';
    const closed = closeRecord(toNewRecord(draft, NOBODY_PAYS), outcome);
    insertEnded.run({ ...draft, ...closed });
    charges.end(closed);
    return null;
  }

  function undoRecord(requestId: RequestId): null {
    const made = select.get(requestId);
    if (made === undefined) return null;
    remove.run(made.seq);
    charges.undoEnd(made);
    return null;
  }

  const remove = database.prepare<[number]>('DELETE FROM requests WHERE seq = ?');

  function discard(requestId: RequestId, nowMs: number, correction: RateCorrection | null): RecordStatus | null {
    const record = select.get(requestId);
    if (record === undefined) return null;
    if (isFinal(record)) return record.status;
    if (record.cancelRequestedAtMs !== null) return end(record, toDiscardedRow(record, nowMs), correction);
    remove.run(record.seq);
    charges.settleHold(record, nowMs);
    charges.correctRate(record, correction);
    return null;
  }

  function undoAccept(requestId: RequestId, nowMs: number): RecordStatus | null {
    const record = select.get(requestId);
    if (record === undefined || !isFinal(record) || !isUnconfirmed(record)) return discard(requestId, nowMs, null);
    remove.run(record.seq);
    charges.undoEnd(record);
    return null;
  }

  const markCancel = database.prepare<[number, RequestId], RecordRow>(`
    UPDATE requests SET cancel_requested_at_ms = coalesce(cancel_requested_at_ms, ?)
    WHERE request_id = ? AND status = 'processing'
    RETURNING ${RECORD_COLUMNS}`);

  function requestCancel(callers: readonly string[], requestId: RequestId, nowMs: number): CancelRow | null {
    const own = find(callers, requestId);
    if (own === null) return null;
    const asked = markCancel.get(nowMs, requestId);
    return asked === undefined ? { kind: 'final', record: own } : { kind: 'asked', record: asked };
  }

  function find(callers: readonly string[], requestId: RequestId): RecordRow | null {
    const row = select.get(requestId);
    return row !== undefined && callers.includes(row.caller) ? row : null;
  }

  // The index on owners has only unfinished records.
  const selectAsked = database.prepare<
    [string],
    { requestId: RequestId; cancel: number | null; confirmed: number | null }
  >(
    `SELECT request_id AS requestId, cancel_requested_at_ms AS cancel, confirmed FROM requests
     WHERE owner = ? AND (cancel_requested_at_ms IS NOT NULL OR confirmed = 0)`,
  );

  function listAsked(): readonly AskedRow[] {
    return selectAsked.all(owner()).map(({ requestId, cancel, confirmed }) => ({
      requestId,
      isCancelRequested: cancel !== null,
      isDoubted: confirmed === 0,
    }));
  }

  const markDoubted = database.prepare<[RequestId]>(
    `UPDATE requests SET confirmed = iif(status = 'processing', 0, 1) WHERE request_id = ? AND confirmed IS NOT 1`,
  );

  function doubt(requestId: RequestId): null {
    markDoubted.run(requestId);
    return null;
  }

  const markConfirmed = database.prepare<[RequestId, string]>(
    'UPDATE requests SET confirmed = 1 WHERE request_id = ? AND owner = ?',
  );

  function confirm(requestIds: readonly RequestId[]): null {
    for (const requestId of requestIds) markConfirmed.run(requestId, owner());
    return null;
  }

  return {
    accept,
    acceptPaid,
    finish,
    record,
    undoRecord,
    discard,
    undoAccept,
    requestCancel,
    find,
    findDuplicate,
    listAsked,
    doubt,
    confirm,
  };
}
