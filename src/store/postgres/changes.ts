/**
 * A batch of changes is one transaction of a few statements. Transactions of several gateways take
 * their locks in one order, so that no deadlock occurs: unique entries of idempotency keys, then
 * records, then keys, then groups, then usage, each kind sorted.
 */
import type { AccountId, RequestId } from '../../contract/ids.ts';
import { unreachable } from '../../core/errors.ts';
import type { RateCorrection } from '../../core/money/rates.ts';
import type { Hold } from '../keys.ts';
import type { RecordStatus } from '../store.ts';
import { prepareCharges, type PaidRow } from '../shared/charges.ts';
import { isOver } from '../shared/deadline.ts';
import type { OperationOf } from '../shared/operations.ts';
import {
  RECORD_COLUMNS,
  closeRecord,
  isFinal,
  isUnconfirmed,
  toDiscardedRow,
  toNewRecord,
  toPresent,
  type CancelRow,
  type DraftRow,
  type IdempotencyRow,
  type OutcomeRow,
  type RecordRow,
} from '../shared/rows.ts';
import { openLockedUnit } from './unit-of-work.ts';
import { PassingError } from './failures.ts';
import { NOTIFY } from './notices.ts';
import { toJson, type Committable, type Connection, type Statement } from './pool.ts';

const NAMES = [
  'accept',
  'acceptPaid',
  'finish',
  'record',
  'undoRecord',
  'discard',
  'undoAccept',
  'requestCancel',
  'requestCancelOfAny',
  'takeRate',
] as const;
export type ChangeName = (typeof NAMES)[number];
export type Change = { readonly [Name in ChangeName]: OperationOf<Name> }[ChangeName];
type Acceptance = OperationOf<'accept'> | OperationOf<'acceptPaid'>;

export const CHANGE_NAMES: ReadonlySet<string> = new Set(NAMES);

// A join with `keys` would not keep the order of the drafts.
const INSERT: Statement = {
  name: 'insert_requests',
  text: `
    INSERT INTO requests (request_id, caller, endpoint, model, stream, created_at_ms, estimated_input_tokens,
      idempotency_key, body, owner, key, group_id, held_micro, interrupted_cost_micro, status)
    SELECT d->>'requestId', d->>'caller', d->>'endpoint', d->>'model', (d->>'stream')::smallint,
      (d->>'createdAtMs')::bigint, (d->>'estimatedInputTokens')::bigint, d->>'idempotencyKey', d->>'body', $2,
      (SELECT seq FROM keys WHERE key_id = d->>'keyId'), (SELECT group_id FROM keys WHERE key_id = d->>'keyId'),
      (d->>'heldMicro')::bigint,
      (d->>'interruptedCostMicro')::bigint, 'processing'
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS drafts (d, place) ORDER BY place
    ON CONFLICT (caller, idempotency_key, body) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING request_id AS "requestId", seq, key, group_id AS "groupId"`,
};

const LOCK_RECORDS: Statement = {
  name: 'lock_requests',
  text: `SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = ANY($1::text[]) ORDER BY seq FOR NO KEY UPDATE`,
};

const FIND_DUPLICATES: Statement = {
  name: 'find_duplicates',
  text: `
    SELECT idempotency_key AS "idempotencyKey", body, ${RECORD_COLUMNS} FROM requests
    WHERE (caller, idempotency_key, body) IN (
      SELECT c->>'caller', c->>'idempotencyKey', c->>'body' FROM jsonb_array_elements($1::jsonb) AS c)`,
};

const WRITE_RECORDS: Statement = {
  name: 'write_requests',
  text: `
    UPDATE requests SET
      owner = CASE r->>'status' WHEN 'processing' THEN owner END,
      status = r->>'status',
      completed_at_ms = (r->>'completedAtMs')::bigint,
      cancel_requested_at_ms = (r->>'cancelRequestedAtMs')::bigint,
      input_tokens = (r->>'inputTokens')::bigint,
      cached_tokens = (r->>'cachedTokens')::bigint,
      cache_write_tokens = (r->>'cacheWriteTokens')::bigint,
      output_tokens = (r->>'outputTokens')::bigint,
      reasoning_tokens = (r->>'reasoningTokens')::bigint,
      total_tokens = (r->>'totalTokens')::bigint,
      usage_estimated = (r->>'usageEstimated')::smallint,
      cost_micro = (r->>'costMicro')::bigint,
      incomplete_reason = r->>'incompleteReason',
      error_code = r->>'errorCode',
      upstream = r->>'upstream',
      idempotency_key = CASE WHEN (r->>'isFreed')::boolean THEN NULL ELSE idempotency_key END
    FROM jsonb_array_elements($1::jsonb) AS r WHERE request_id = r->>'requestId'`,
};

const REMOVE_RECORDS: Statement = {
  name: 'remove_requests',
  text: 'DELETE FROM requests WHERE request_id = ANY($1::text[])',
};

/** True for a batch that one statement writes: no draft can be a duplicate or be refused. */
export function isPlainAcceptance(changes: readonly Change[]): boolean {
  return changes.every((change) => change[0] === 'accept' && change[1].idempotencyKey === null);
}

/**
 * Returns the result of each change. Throws PassingError when a duplicate was deleted meanwhile.
 */
export async function writeChanges(
  connection: Connection,
  { owner, nowMs }: { readonly owner: string; readonly nowMs: number },
  changes: readonly Change[],
): Promise<Committable<readonly unknown[]>> {
  const unit = openLockedUnit(connection);
  const charges = prepareCharges(unit);
  const drafts = changes.flatMap(toAcceptances);
  const known = await findOriginals(
    connection,
    drafts.flatMap(([, , earlier]) => earlier),
  );
  const late = new Set(drafts.flatMap(([, draft]) => (isOver(draft) ? [draft.requestId] : [])));
  const fresh = drafts.filter(
    ([, draft, earlier]) => !late.has(draft.requestId) && firstOf(known, earlier) === undefined,
  );
  // Both statements are sent at once; the second one sees the rows of the first.
  const [inserted, locked] = await Promise.all([insert(connection, owner, fresh), lock(connection, changes)]);
  const originals = await findOriginals(
    connection,
    fresh.flatMap(([, draft]) => (inserted.has(draft.requestId) ? [] : toPresent(draft))),
  );
  const records = new Map([...inserted, ...locked]);
  await unit.load({
    keys: [...records.values()].flatMap((record) => record.key ?? []),
    groupIds: [...records.values()].flatMap((record) => record.groupId ?? []),
    accountIds: changes.flatMap(toAccountIds),
  });

  const changed = new Set<RequestId>();
  const removed = new Set<RequestId>();
  const freed = new Set<RequestId>();
  const cancelled = new Set<RequestId>();
  const refused = new Map<RequestId, PaidRow>();

  function accept(draft: DraftRow, earlier: readonly IdempotencyRow[]): RecordRow | 'late' | null {
    if (late.has(draft.requestId)) return 'late';
    // The insert may have waited for another transaction with the same idempotency key.
    if (draft.idempotencyKey !== null && inserted.has(draft.requestId) && isOver(draft)) {
      remove(draft.requestId);
      return 'late';
    }
    const repeated = firstOf(known, earlier);
    if (repeated !== undefined) return repeated;
    if (inserted.has(draft.requestId)) return null;
    const original = firstOf(originals, toPresent(draft));
    if (original === undefined) throw new PassingError('the record that a draft repeats has gone');
    return records.get(original.requestId) ?? original;
  }

  function acceptPaid(draft: DraftRow, earlier: readonly IdempotencyRow[], hold: Hold): PaidRow {
    const { requestId, createdAtMs } = draft;
    const repeated = accept(draft, earlier);
    if (repeated === 'late') return { kind: 'late', rates: null };
    if (repeated !== null) return refused.get(repeated.requestId) ?? { kind: 'duplicate', record: repeated };
    const held = charges.takeHold(requestId, hold, createdAtMs, records.get(requestId)?.groupId);
    if (!('refused' in held)) return { kind: 'accepted', rates: held.rates };
    const refusal: PaidRow = { kind: held.refused, ofGroup: held.ofGroup, rates: held.rates };
    refused.set(requestId, refusal);
    remove(requestId);
    return refusal;
  }

  function finish(outcome: OutcomeRow, correction: RateCorrection | null): RecordStatus | null {
    const record = records.get(outcome.requestId);
    if (record === undefined) return null;
    return isFinal(record) ? record.status : end(record, outcome, correction);
  }

  function end(record: RecordRow, outcome: OutcomeRow, correction: RateCorrection | null): RecordStatus {
    const closed = closeRecord(record, outcome);
    note(closed);
    if (outcome.freesIdempotencyKey && record.cancelRequestedAtMs === null) freed.add(record.requestId);
    charges.end(closed);
    charges.correctRate(closed, correction);
    return closed.status;
  }

  function record(draft: DraftRow, outcome: OutcomeRow): 'late' | null {
    const made = records.get(draft.requestId);
    if (made === undefined) return 'late';
    end(made, outcome, null);
    return null;
  }

  function undoRecord(requestId: RequestId): null {
    const made = records.get(requestId);
    if (made === undefined) return null;
    charges.undoEnd(made);
    remove(requestId);
    return null;
  }

  function discard(requestId: RequestId, nowMs: number, correction: RateCorrection | null): RecordStatus | null {
    const record = records.get(requestId);
    if (record === undefined) return null;
    if (isFinal(record)) return record.status;
    if (record.cancelRequestedAtMs !== null) return end(record, toDiscardedRow(record, nowMs), correction);
    charges.settleHold(record, nowMs);
    charges.correctRate(record, correction);
    remove(requestId);
    return null;
  }

  function undoAccept(requestId: RequestId, nowMs: number): RecordStatus | null {
    const record = records.get(requestId);
    if (record === undefined || !isFinal(record) || !isUnconfirmed(record)) return discard(requestId, nowMs, null);
    charges.undoEnd(record);
    remove(requestId);
    return null;
  }

  function requestCancel(requestId: RequestId, nowMs: number, callers?: readonly string[]): CancelRow | null {
    const record = records.get(requestId);
    if (record === undefined || callers?.includes(record.caller) === false) return null;
    if (isFinal(record)) return { kind: 'final', record };
    const asked = { ...record, cancelRequestedAtMs: record.cancelRequestedAtMs ?? nowMs };
    note(asked);
    cancelled.add(requestId);
    return { kind: 'asked', record: asked };
  }

  function note(record: RecordRow): void {
    records.set(record.requestId, record);
    changed.add(record.requestId);
  }

  function remove(requestId: RequestId): void {
    records.delete(requestId);
    changed.delete(requestId);
    removed.add(requestId);
  }

  function decide(change: Change): unknown {
    switch (change[0]) {
      case 'accept':
        return accept(change[1], change[2]);
      case 'acceptPaid':
        return acceptPaid(change[1], change[2], change[3]);
      case 'finish':
        return finish(change[1], change[2]);
      case 'record':
        return record(change[1], change[2]);
      case 'undoRecord':
        return undoRecord(change[1]);
      case 'discard':
        return discard(change[1], change[2], change[3]);
      case 'undoAccept':
        return undoAccept(change[1], change[2]);
      case 'requestCancel':
        return requestCancel(change[2], change[3], change[1]);
      case 'requestCancelOfAny':
        return requestCancel(change[1], change[2]);
      case 'takeRate':
        return charges.takeRate(change[1], change[2], change[3]);
      default:
        return unreachable(change);
    }
  }

  const result = changes.map(decide);
  const updates = [...changed].map((requestId) => ({ ...records.get(requestId), isFreed: freed.has(requestId) }));
  return {
    result,
    last: [
      ...(removed.size === 0 ? [] : [connection.changes(REMOVE_RECORDS, [[...removed]])]),
      ...(updates.length === 0 ? [] : [connection.changes(WRITE_RECORDS, [toJson(updates)])]),
      ...unit.flush(nowMs),
      // PostgreSQL sends the notices when the transaction commits.
      ...(cancelled.size === 0 ? [] : [connection.rows(NOTIFY, [[...cancelled], owner])]),
    ],
  };
}

function toAcceptances(change: Change): readonly Acceptance[] {
  if (change[0] === 'record') return [['accept', change[1], []]];
  return change[0] === 'accept' || change[0] === 'acceptPaid' ? [change] : [];
}

async function insert(
  connection: Connection,
  owner: string,
  acceptances: readonly Acceptance[],
): Promise<ReadonlyMap<RequestId, RecordRow>> {
  if (acceptances.length === 0) return new Map();
  const rows = acceptances.map(toInsert).sort(byIdempotency);
  const made = await connection.rows<InsertedRow>(INSERT, [toJson(rows), owner]);
  const inserted = new Map(made.map((row) => [row.requestId, row]));
  return new Map(
    rows.flatMap((row) => {
      const found = inserted.get(row.requestId);
      return found === undefined ? [] : [[row.requestId, toNewRecord(row, found)]];
    }),
  );
}

type InsertRow = DraftRow & Partial<Hold>;
type InsertedRow = Pick<RecordRow, 'requestId' | 'seq' | 'key' | 'groupId'>;

function toInsert([, draft, , hold]: Acceptance): InsertRow {
  return { ...draft, ...hold };
}

/** Drafts without an idempotency key come first; all others take their locks in one order. */
function byIdempotency(one: InsertRow, other: InsertRow): number {
  const [name, otherName] = [toIdempotency(one), toIdempotency(other)];
  return name === otherName ? 0 : name < otherName ? -1 : 1;
}

function toIdempotency(row: InsertRow): string {
  return toPresent(row).map(toIdentity).join();
}

async function lock(connection: Connection, changes: readonly Change[]): Promise<ReadonlyMap<RequestId, RecordRow>> {
  const wanted = [...new Set(changes.flatMap(toRequestId))];
  if (wanted.length === 0) return new Map();
  const rows = await connection.rows<RecordRow>(LOCK_RECORDS, [wanted]);
  return new Map(rows.map((row) => [row.requestId, row]));
}

function toRequestId(change: Change): readonly RequestId[] {
  switch (change[0]) {
    case 'finish':
      return [change[1].requestId];
    case 'discard':
    case 'undoAccept':
    case 'undoRecord':
    case 'requestCancelOfAny':
      return [change[1]];
    case 'requestCancel':
      return [change[2]];
    default:
      return [];
  }
}

function toAccountIds(change: Change): readonly AccountId[] {
  return change[0] === 'takeRate' ? [change[1]] : [];
}

async function findOriginals(
  connection: Connection,
  candidates: readonly IdempotencyRow[],
): Promise<ReadonlyMap<string, RecordRow>> {
  if (candidates.length === 0) return new Map();
  const rows = await connection.rows<RecordRow & IdempotencyRow>(FIND_DUPLICATES, [toJson(candidates)]);
  return new Map(
    rows.map(({ idempotencyKey, body, ...record }) => [toIdentity({ ...record, idempotencyKey, body }), record]),
  );
}

function firstOf(
  originals: ReadonlyMap<string, RecordRow>,
  candidates: readonly IdempotencyRow[],
): RecordRow | undefined {
  const found = candidates.find((candidate) => originals.has(toIdentity(candidate)));
  return found && originals.get(toIdentity(found));
}

function toIdentity({ caller, idempotencyKey, body }: IdempotencyRow): string {
  return JSON.stringify([caller, idempotencyKey, body]);
}
