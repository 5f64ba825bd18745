/**
 * What happens to records from their beginning to their end, many at once: a batch is one transaction of a few statements,
 * however many changes it has. The records and keys concerned are read and locked, what the changes mean is decided in
 * memory, in their order, and then written.
 *
 * Transactions of several gateways meet on the same rows. They take their locks in one order, so that none waits in a
 * circle: unique entries of idempotency keys, then records, then keys, then sums of usage, and those of one kind sorted.
 */
import type { KeyId, RequestId } from '../../contract/ids.ts';
import { unreachable } from '../../core/errors.ts';
import type { Hold } from '../keys.ts';
import type { RecordStatus } from '../store.ts';
import { prepareCharges, type PaidRow } from '../shared/charges.ts';
import type { OperationOf } from '../shared/operations.ts';
import {
  CALLER,
  KEY,
  RECORD_COLUMNS,
  closeRecord,
  isFinal,
  toClosed,
  toDiscardedRow,
  toPresent,
  type CancelRow,
  type DraftRow,
  type IdempotencyRow,
  type OutcomeRow,
  type RecordRow,
} from '../shared/rows.ts';
import { openLockedBooks } from './unit-of-work.ts';
import { PassingError } from './failures.ts';
import { NOTIFY } from './notices.ts';
import { toJson, type Committable, type Connection, type Statement } from './pool.ts';

const NAMES = [
  'accept',
  'acceptPaid',
  'finish',
  'discard',
  'requestCancel',
  'requestCancelOfAny',
  'takeRate',
  'correctRate',
] as const;
export type ChangeName = (typeof NAMES)[number];
export type Change = { readonly [Name in ChangeName]: OperationOf<Name> }[ChangeName];
type Acceptance = OperationOf<'accept'> | OperationOf<'acceptPaid'>;

export const CHANGE_NAMES: ReadonlySet<string> = new Set(NAMES);

// The place of the key is looked up for each by itself: a join would not keep the order.
const INSERT: Statement = {
  name: 'insert_requests',
  text: `
    INSERT INTO requests (request_id, caller, endpoint, model, stream, created_at_ms, estimated_input_tokens,
      idempotency_key, body, owner, key, held_micro, interrupted_cost_micro, status)
    SELECT d->>0, d->>1, d->>2, d->>3, (d->>4)::smallint, (d->>5)::bigint, (d->>6)::bigint, d->>7, d->>8, $2,
      (SELECT seq FROM keys WHERE key_id = d->>9), (d->>10)::bigint, (d->>11)::bigint, 'processing'
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS drafts (d, place) ORDER BY place
    ON CONFLICT (caller, idempotency_key, body) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING request_id, seq, key`,
};

const LOCK_RECORDS: Statement = {
  name: 'lock_requests',
  text: `SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = ANY($1::text[]) ORDER BY seq FOR NO KEY UPDATE`,
};

const FIND_DUPLICATES: Statement = {
  name: 'find_duplicates',
  text: `
    SELECT caller, idempotency_key, body, ${RECORD_COLUMNS} FROM requests
    WHERE (caller, idempotency_key, body) IN (SELECT c->>0, c->>1, c->>2 FROM jsonb_array_elements($1::jsonb) AS c)`,
};

const WRITE_RECORDS: Statement = {
  name: 'write_requests',
  text: `
    UPDATE requests SET
      owner = CASE r->>1 WHEN 'processing' THEN owner END,
      status = r->>1,
      completed_at_ms = (r->>2)::bigint,
      cancel_requested_at_ms = (r->>3)::bigint,
      input_tokens = (r->>4)::bigint,
      cached_tokens = (r->>5)::bigint,
      output_tokens = (r->>6)::bigint,
      reasoning_tokens = (r->>7)::bigint,
      total_tokens = (r->>8)::bigint,
      usage_estimated = (r->>9)::smallint,
      cost_micro = (r->>10)::bigint,
      incomplete_reason = r->>11,
      error_code = r->>12,
      idempotency_key = CASE r->>13 WHEN '1' THEN NULL ELSE idempotency_key END
    FROM jsonb_array_elements($1::jsonb) AS r WHERE request_id = r->>0`,
};

const REMOVE_RECORDS: Statement = {
  name: 'remove_requests',
  text: 'DELETE FROM requests WHERE request_id = ANY($1::text[])',
};

/** True for a batch which one statement writes: nothing in it can be a duplicate, or be refused. */
export function isPlainAcceptance(changes: readonly Change[]): boolean {
  return changes.every((change) => change[0] === 'accept' && change[1][7] === null);
}

/** Returns what each change has come to, in order. Throws PassingError when a record in the way has gone meanwhile. */
export async function writeChanges(
  connection: Connection,
  owner: string,
  changes: readonly Change[],
): Promise<Committable<readonly unknown[]>> {
  const books = openLockedBooks(connection);
  const charges = prepareCharges(books);
  const drafts = changes.filter(isAcceptance);
  const known = await findOriginals(
    connection,
    drafts.flatMap(([, , earlier]) => earlier),
  );
  const fresh = drafts.filter(([, , earlier]) => firstOf(known, earlier) === undefined);
  // Both are sent at once; the second sees what the first has inserted.
  const [inserted, locked] = await Promise.all([insert(connection, owner, fresh), lock(connection, changes)]);
  const originals = await findOriginals(
    connection,
    fresh.flatMap(([, draft]) => (inserted.has(draft[0]) ? [] : toPresent(draft))),
  );
  const records = new Map([...inserted, ...locked]);
  await books.load(
    [...records.values()].flatMap((record) => record[KEY] ?? []),
    changes.flatMap(toKeyId),
  );

  const changed = new Set<RequestId>();
  const removed = new Set<RequestId>();
  const freed = new Set<RequestId>();
  const cancelled = new Set<RequestId>();
  const refused = new Map<RequestId, PaidRow>();

  /** The record which the draft repeats; null when it became one itself. */
  function accept(draft: DraftRow, earlier: readonly IdempotencyRow[]): RecordRow | null {
    const repeated = firstOf(known, earlier);
    if (repeated !== undefined) return repeated;
    if (inserted.has(draft[0])) return null;
    const original = firstOf(originals, toPresent(draft));
    if (original === undefined) throw new PassingError('the record that a draft repeats has gone');
    return records.get(original[0]) ?? original;
  }

  function acceptPaid(draft: DraftRow, earlier: readonly IdempotencyRow[], hold: Hold): PaidRow {
    const [requestId, , , , , createdAtMs] = draft;
    const repeated = accept(draft, earlier);
    if (repeated !== null) return refused.get(repeated[0]) ?? ['duplicate', repeated];
    const held = charges.takeHold(requestId, hold, createdAtMs);
    if (!('refused' in held)) return ['accepted', held.rates];
    refused.set(requestId, [held.refused, held.rates]);
    remove(requestId);
    return [held.refused, held.rates];
  }

  function finish(outcome: OutcomeRow): RecordStatus | null {
    const requestId = outcome[12];
    const record = records.get(requestId);
    if (record === undefined) return null;
    return isFinal(record) ? record[4] : end(record, outcome);
  }

  function end(record: RecordRow, outcome: OutcomeRow): RecordStatus {
    const closed = closeRecord(record, outcome);
    const [requestId, freesIdempotencyKey] = [record[0], outcome[11]];
    note(closed);
    if (freesIdempotencyKey === 1 && record[7] === null) freed.add(requestId);
    const ended = toClosed(closed);
    charges.end(ended);
    return ended.status;
  }

  function discard(requestId: RequestId, nowMs: number): null {
    const record = records.get(requestId);
    if (record === undefined || isFinal(record)) return null;
    if (record[7] !== null) {
      end(record, toDiscardedRow(requestId, nowMs));
    } else {
      charges.settleHold(toClosed(record), nowMs);
      remove(requestId);
    }
    return null;
  }

  function requestCancel(requestId: RequestId, nowMs: number, callers?: readonly string[]): CancelRow | null {
    const record = records.get(requestId);
    if (record === undefined || callers?.includes(record[CALLER]) === false) return null;
    if (isFinal(record)) return ['final', record];
    const asked = markCancel(record, nowMs);
    note(asked);
    cancelled.add(requestId);
    return ['asked', asked];
  }

  function note(record: RecordRow): void {
    records.set(record[0], record);
    changed.add(record[0]);
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
        return finish(change[1]);
      case 'discard':
        return discard(change[1], change[2]);
      case 'requestCancel':
        return requestCancel(change[2], change[3], change[1]);
      case 'requestCancelOfAny':
        return requestCancel(change[1], change[2]);
      case 'takeRate':
        return charges.takeRate(change[1], change[2], change[3]);
      case 'correctRate':
        return charges.correctRate(change[1], change[2], change[3]);
      default:
        return unreachable(change);
    }
  }

  const result = changes.map(decide);
  const updates = [...changed].flatMap((requestId) => toUpdate(records.get(requestId), freed.has(requestId)));
  return {
    result,
    last: [
      ...(removed.size === 0 ? [] : [connection.changes(REMOVE_RECORDS, [[...removed]])]),
      ...(updates.length === 0 ? [] : [connection.changes(WRITE_RECORDS, [toJson(updates)])]),
      ...books.write(),
      // Heard when this is committed.
      ...(cancelled.size === 0 ? [] : [connection.rows(NOTIFY, [[...cancelled], owner])]),
    ],
  };
}

function isAcceptance(change: Change): change is Acceptance {
  return change[0] === 'accept' || change[0] === 'acceptPaid';
}

/** Those that became records. */
async function insert(
  connection: Connection,
  owner: string,
  acceptances: readonly Acceptance[],
): Promise<ReadonlyMap<RequestId, RecordRow>> {
  if (acceptances.length === 0) return new Map();
  const rows = acceptances.map(toInsert).sort(byIdempotency);
  const made = await connection.rows<[RequestId, number, number | null]>(INSERT, [toJson(rows), owner]);
  const drafts = new Map(acceptances.map((acceptance) => [acceptance[1][0], acceptance]));
  return new Map(
    made.flatMap(([requestId, seq, key]) => {
      const acceptance = drafts.get(requestId);
      return acceptance === undefined ? [] : [[requestId, toNewRecord(acceptance, seq, key)]];
    }),
  );
}

type InsertRow = readonly [...DraftRow, keyId: string | null, heldMicro: number | null, costMicro: number | null];

function toInsert([, draft, , hold]: Acceptance): InsertRow {
  return [...draft, hold?.keyId ?? null, hold?.heldMicro ?? null, hold?.interruptedCostMicro ?? null];
}

/** Drafts which nothing can be in the way of first, in their own order. */
function byIdempotency(one: InsertRow, other: InsertRow): number {
  const [name, otherName] = [toIdempotency(one), toIdempotency(other)];
  return name === otherName ? 0 : name < otherName ? -1 : 1;
}

function toIdempotency([, caller, , , , , , key, body]: InsertRow): string {
  return key === null ? '' : JSON.stringify([caller, key, body]);
}

function toNewRecord([, draft, , hold]: Acceptance, seq: number, key: number | null): RecordRow {
  const [requestId, caller, endpoint, model, stream, createdAtMs] = draft;
  const nothing = [null, null, null, null, null] as const;
  return [
    ...([requestId, endpoint, model, stream, 'processing', createdAtMs, null, null] as const),
    ...nothing,
    ...([0, null, null, null, seq, caller, key, hold?.heldMicro ?? null] as const),
  ];
}

/** The records which the changes are about, with their rows locked. */
async function lock(connection: Connection, changes: readonly Change[]): Promise<ReadonlyMap<RequestId, RecordRow>> {
  const wanted = [...new Set(changes.flatMap(toRequestId))];
  if (wanted.length === 0) return new Map();
  const rows = await connection.rows<RecordRow>(LOCK_RECORDS, [wanted]);
  return new Map(rows.map((row) => [row[0], row]));
}

function toRequestId(change: Change): readonly RequestId[] {
  switch (change[0]) {
    case 'finish':
      return [change[1][12]];
    case 'discard':
    case 'requestCancelOfAny':
      return [change[1]];
    case 'requestCancel':
      return [change[2]];
    default:
      return [];
  }
}

/** The key that a change counts for without a record. */
function toKeyId(change: Change): readonly KeyId[] {
  return change[0] === 'takeRate' || change[0] === 'correctRate' ? [change[1]] : [];
}

/** Records by what identifies them, in JSON. */
async function findOriginals(
  connection: Connection,
  candidates: readonly IdempotencyRow[],
): Promise<ReadonlyMap<string, RecordRow>> {
  if (candidates.length === 0) return new Map();
  const rows = await connection.rows<[string, string, string, ...RecordRow]>(FIND_DUPLICATES, [toJson(candidates)]);
  return new Map(rows.map(([caller, key, body, ...record]) => [JSON.stringify([caller, key, body]), record]));
}

function firstOf(
  originals: ReadonlyMap<string, RecordRow>,
  candidates: readonly IdempotencyRow[],
): RecordRow | undefined {
  const found = candidates.find((candidate) => originals.has(JSON.stringify(candidate)));
  return found && originals.get(JSON.stringify(found));
}

/** The first who asks for a cancel sets its time. */
function markCancel(record: RecordRow, nowMs: number): RecordRow {
  const [requestId, endpoint, model, stream, status, createdAtMs, completedAtMs, cancelRequestedAtMs, ...rest] = record;
  const times = [createdAtMs, completedAtMs, cancelRequestedAtMs ?? nowMs] as const;
  return [requestId, endpoint, model, stream, status, ...times, ...rest];
}

function toUpdate(record: RecordRow | undefined, isFreed: boolean): readonly (readonly unknown[])[] {
  if (record === undefined) return [];
  const [requestId, , , , status, , completedAtMs, cancelRequestedAtMs, ...rest] = record;
  const [input, cached, output, reasoning, total, estimated, cost, incomplete, error] = rest;
  const usage = [input, cached, output, reasoning, total, estimated];
  return [[requestId, status, completedAtMs, cancelRequestedAtMs, ...usage, cost, incomplete, error, isFreed ? 1 : 0]];
}
