/**
 * A batch of changes is one transaction of a few statements. Transactions of several gateways take
 * their locks in one order, so that no deadlock occurs: unique entries of idempotency keys, then
 * records, then keys, then groups, then usage, each kind sorted.
 */
import type { RequestId } from '../../contract/ids.ts';
import { decide, neededBy, type Beginning, type Change, type Needed } from '../book/changes.ts';
import { prepareCharges } from '../book/charges.ts';
import type { Hold } from '../../core/books/keys.ts';
import { isOver } from '../queue/deadline.ts';
import { columnOf } from '../rows/columns.ts';
import {
  BEGUN_COLUMNS,
  DRAFT_COLUMNS,
  fieldsOf,
  HOLD_COLUMNS,
  listOf,
  namesOf,
  RECORD_COLUMNS,
  STATE_COLUMNS,
} from '../rows/record-columns.ts';
import {
  isFinal,
  toNewRecord,
  toPresent,
  type BegunRow,
  type DraftRow,
  type IdempotencyRow,
  type Paying,
  type RecordRow,
} from '../rows/records.ts';
import type { Calendar } from '../calendar.ts';
import { openLockedUnit, type LockedUnitOfWork } from './unit-of-work.ts';
import { PassingError } from './failures.ts';
import { NOTIFY } from './notices.ts';
import { toNumbered } from './statements.ts';
import { toJson, type Committable, type Connection, type Statement } from './pool.ts';

/**
 * How a statement reads rows that come as lists of these fields. With names, most of what is written and read would be
 * names.
 */
const readsFrom =
  (row: string, fields: readonly string[]) =>
  (field: string, type = 'text') => {
    const value = `${row}->>${fields.indexOf(field)}`;
    return type === 'text' ? value : `(${value})::${type}`;
  };

const { key: _key, groupId: _groupId, ...HELD_COLUMNS } = HOLD_COLUMNS;
const GIVEN_COLUMNS = { ...DRAFT_COLUMNS, ...HELD_COLUMNS };
const INSERT_FIELDS = [...fieldsOf(GIVEN_COLUMNS), 'keyId'] as const;
const ofDraft = readsFrom('d', INSERT_FIELDS);

// A join with `keys` would not keep the order of the drafts.
const INSERT: Statement = {
  name: 'insert_requests',
  text: `
    INSERT INTO requests (owner, key, group_id, status, ${namesOf(GIVEN_COLUMNS)})
    SELECT $2, (SELECT seq FROM keys WHERE key_id = ${ofDraft('keyId')}),
      (SELECT group_id FROM keys WHERE key_id = ${ofDraft('keyId')}), 'processing', ${listOf(GIVEN_COLUMNS, ofDraft)}
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS drafts (d, ordinal) ORDER BY ordinal
    ON CONFLICT (caller, idempotency_key, body) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING request_id AS "requestId", seq, key, group_id AS "groupId"`,
};

const LOCK_RECORDS: Statement = {
  name: 'lock_requests',
  text: `SELECT ${BEGUN_COLUMNS} FROM requests WHERE request_id = ANY($1::text[]) ORDER BY seq FOR NO KEY UPDATE`,
};

const READ_ENDED: Statement = {
  name: 'read_ended_requests',
  text: `SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = ANY($1::text[])`,
};

const FIND_DUPLICATES: Statement = {
  name: 'find_duplicates',
  text: `
    SELECT idempotency_key AS "idempotencyKey", body, ${RECORD_COLUMNS} FROM requests
    WHERE (caller, idempotency_key, body) IN (
      SELECT c->>'caller', c->>'idempotencyKey', c->>'body' FROM jsonb_array_elements($1::jsonb) AS c)`,
};

const WRITE_FIELDS = ['requestId', 'isFreed', ...fieldsOf(STATE_COLUMNS)] as const;
const ofRecord = readsFrom('r', WRITE_FIELDS);

const WRITE_RECORDS: Statement = {
  name: 'write_requests',
  text: `
    UPDATE requests SET
      owner = CASE ${ofRecord('status')} WHEN 'processing' THEN owner END,
      ${listOf(STATE_COLUMNS, (field, type) => `${columnOf(field)} = ${ofRecord(field, type)}`)},
      idempotency_key = CASE WHEN (${ofRecord('isFreed')})::boolean THEN NULL ELSE idempotency_key END
    FROM jsonb_array_elements($1::jsonb) AS r WHERE request_id = ${ofRecord('requestId')}`,
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
  { owner, nowMs, calendar }: { readonly owner: string; readonly nowMs: number; readonly calendar: Calendar },
  changes: readonly Change[],
): Promise<Committable<readonly unknown[]>> {
  const unit = openLockedUnit(connection);
  const loaded = await load(connection, owner, neededBy(changes), unit);
  const { results, changed, removed, freed, cancelled } = decide(changes, {
    ...loaded,
    charges: prepareCharges(unit, calendar),
  });
  return {
    result: results,
    last: [
      ...(removed.size === 0 ? [] : [connection.changes(REMOVE_RECORDS, [[...removed]])]),
      ...writeRecords(connection, [...changed.values()], freed),
      ...unit.flush(nowMs),
      // PostgreSQL sends the notices when the transaction commits.
      ...(cancelled.size === 0 ? [] : [connection.rows(toNumbered(NOTIFY), { requestIds: [...cancelled], owner })]),
    ],
  };
}

/** Writes records that have changed, and frees the idempotency keys of some. */
export function writeRecords(
  connection: Connection,
  records: readonly RecordRow[],
  freed: ReadonlySet<RequestId> = new Set(),
): readonly Promise<unknown>[] {
  if (records.length === 0) return [];
  const rows = records.map((record) => {
    return WRITE_FIELDS.map((field) => (field === 'isFreed' ? freed.has(record.requestId) : record[field]));
  });
  return [connection.changes(WRITE_RECORDS, [toJson(rows)])];
}

async function load(
  connection: Connection,
  owner: string,
  { beginnings, records: requestIds, accounts: accountIds }: Needed,
  unit: LockedUnitOfWork,
) {
  const late = new Set(beginnings.flatMap(({ draft }) => (isOver(draft) ? [draft.requestId] : [])));
  const inTime = beginnings.filter(({ draft }) => !late.has(draft.requestId));
  const known = await findOriginals(
    connection,
    inTime.flatMap(({ earlier }) => earlier),
  );
  const originals = new Map<RequestId, RecordRow>();
  const fresh = inTime.filter(({ draft, earlier }) => {
    const original = firstOf(known, earlier);
    if (original !== undefined) originals.set(draft.requestId, original);
    return original === undefined;
  });
  // Both statements are sent at once; the second one sees the rows of the first.
  const [inserted, locked] = await Promise.all([insert(connection, owner, fresh), lock(connection, requestIds)]);
  const repeating = fresh.filter(({ draft }) => !inserted.has(draft.requestId)).map(({ draft }) => draft);
  const present = await findOriginals(connection, repeating.flatMap(toPresent));
  for (const draft of repeating) {
    const original = firstOf(present, toPresent(draft));
    if (original === undefined) throw new PassingError('the record that a draft repeats has gone');
    originals.set(draft.requestId, original);
  }
  for (const { draft } of fresh) {
    // The insert may have waited for another transaction with the same idempotency key.
    if (draft.idempotencyKey !== null && inserted.has(draft.requestId) && isOver(draft)) late.add(draft.requestId);
  }
  const records = new Map([...inserted, ...locked]);
  await unit.load({ records: [...records.values()], accountIds });
  return { records, originals, late };
}

async function insert(
  connection: Connection,
  owner: string,
  beginnings: readonly Beginning[],
): Promise<ReadonlyMap<RequestId, BegunRow>> {
  if (beginnings.length === 0) return new Map();
  const rows = beginnings.map(toInsert).sort(byIdempotency);
  const values = rows.map((row) => INSERT_FIELDS.map((field) => row[field]));
  const made = await connection.rows<InsertedRow>(INSERT, [toJson(values), owner]);
  const inserted = new Map(made.map((row) => [row.requestId, row]));
  return new Map(
    rows.flatMap((row) => {
      const found = inserted.get(row.requestId);
      return found === undefined ? [] : [[row.requestId, toNewRecord(row, found)]];
    }),
  );
}

type InsertRow = DraftRow & Partial<Hold>;
interface InsertedRow extends Paying {
  readonly requestId: RequestId;
  readonly seq: number;
}

function toInsert({ draft, hold }: Beginning): InsertRow {
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

async function lock(
  connection: Connection,
  requestIds: readonly RequestId[],
): Promise<ReadonlyMap<RequestId, BegunRow>> {
  if (requestIds.length === 0) return new Map();
  const locked = await connection.rows<BegunRow>(LOCK_RECORDS, [requestIds]);
  const ended = locked.flatMap((row) => (isFinal(row) ? row.requestId : []));
  const whole = ended.length === 0 ? [] : await connection.rows<RecordRow>(READ_ENDED, [ended]);
  const rows = [...locked.filter((row) => !isFinal(row)), ...whole];
  return new Map(rows.map((row) => [row.requestId, row]));
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
