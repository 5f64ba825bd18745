import type { Database } from 'better-sqlite3';
import type { GroupId, RequestId } from '../../contract/ids.ts';
import type { Charges } from '../book/charges.ts';
import { decide, neededBy, type Beginning, type Change, type Decided, type Needed } from '../book/changes.ts';
import { isOver } from '../queue/deadline.ts';
import { columnOf } from '../rows/columns.ts';
import { DRAFT_COLUMNS, HOLD_COLUMNS, listOf, namesOf, STATE_COLUMNS } from '../rows/record-columns.ts';
import {
  isFinal,
  toNewRecord,
  toPresent,
  type BegunRow,
  type DraftRow,
  type IdempotencyRow,
  type RecordRow,
} from '../rows/records.ts';
import { prepareNamed } from './named.ts';
import type { SqliteUnitOfWork } from './unit-of-work.ts';
import { SQLITE } from '../sql/dialect.ts';
import { recordStatements } from '../sql/records.ts';

const RECORDS = recordStatements(SQLITE);

interface InsertRow extends DraftRow {
  readonly owner: string;
  readonly key: number | null;
  readonly groupId: GroupId | null;
  readonly heldMicro: number | null;
  readonly interruptedCostMicro: number | null;
}

/** The number that a record gets when it is inserted. Nothing asks for it before. */
const NOT_YET = 0;

export interface Changes {
  /**
   * Carries out changes and returns their results. Runs inside the transaction of a batch, which is
   * the only writer then.
   */
  apply(changes: readonly Change[]): readonly unknown[];
  update(record: RecordRow): void;
}

export function prepareChanges(
  database: Database,
  {
    owner,
    unit,
    charges,
  }: { readonly owner: () => string; readonly unit: SqliteUnitOfWork; readonly charges: Charges },
): Changes {
  const prepareRow = <Row extends object>(text: string) => prepareNamed<Row>(database, { text });
  const begun = { ...DRAFT_COLUMNS, ...HOLD_COLUMNS };
  const insert = prepareRow<InsertRow>(`
    INSERT INTO requests (owner, status, ${namesOf(begun)})
    VALUES (:owner, 'processing', ${listOf(begun, (field) => `:${field}`)})`);
  // One insert in place of an insert and an update, for what begins and ends in one batch.
  const ended = { ...DRAFT_COLUMNS, ...STATE_COLUMNS };
  const insertEnded = prepareRow<DraftRow & RecordRow>(`
    INSERT INTO requests (${namesOf(ended)}) VALUES (${listOf(ended, (field) => `:${field}`)})`);
  const update = prepareRow<RecordRow>(`
    UPDATE requests SET owner = iif(:status = 'processing', owner, NULL),
      ${listOf(STATE_COLUMNS, (field) => `${columnOf(field)} = :${field}`)}
    WHERE seq = :seq`);
  const freeIdempotencyKey = database.prepare<[number]>('UPDATE requests SET idempotency_key = NULL WHERE seq = ?');
  const remove = database.prepare<[number]>('DELETE FROM requests WHERE seq = ?');
  // A statement with RETURNING takes half as long again, so the record is read first.
  const selectBegun = prepareNamed<{ readonly requestId: RequestId }, BegunRow>(database, RECORDS.findBegun);
  const select = prepareNamed<{ readonly requestId: RequestId }, RecordRow>(database, RECORDS.find);
  const selectDuplicate = prepareNamed<IdempotencyRow, RecordRow>(database, RECORDS.findDuplicate);

  return {
    apply: (changes) => cutWhereKeysReturn(changes).flatMap(applyTogether),
    update: (record) => void update.run(record),
  };

  function applyTogether(changes: readonly Change[]): readonly unknown[] {
    const needed = neededBy(changes);
    const loaded = load(needed);
    const decided = decide(changes, { ...loaded, charges });
    write(needed, loaded.records, decided);
    return decided.results;
  }

  function load({ beginnings, records: requestIds }: Needed) {
    const records = new Map<RequestId, BegunRow>();
    const originals = new Map<RequestId, BegunRow>();
    const late = new Set<RequestId>();
    /** Of this batch, by what identifies its duplicates. */
    const begun = new Map<string, BegunRow>();
    for (const { draft, earlier, hold } of beginnings) {
      const [present] = toPresent(draft);
      const name = present && JSON.stringify(present);
      const original = present && (findDuplicate([...earlier, present]) ?? begun.get(name ?? ''));
      if (isOver(draft)) late.add(draft.requestId);
      else if (original !== undefined) originals.set(draft.requestId, original);
      else {
        const record = begin(draft, hold);
        records.set(draft.requestId, record);
        if (name !== undefined) begun.set(name, record);
      }
    }
    for (const requestId of requestIds) {
      if (records.has(requestId)) continue;
      const begun = selectBegun.get({ requestId });
      const record = begun && (isFinal(begun) ? select.get({ requestId }) : begun);
      if (record !== undefined) records.set(requestId, record);
    }
    return { records, originals, late };
  }

  function begin(draft: DraftRow, hold: Beginning['hold']): BegunRow {
    const key = hold && unit.funding.find(hold.keyId);
    const payers = { seq: NOT_YET, key: key?.seq ?? null, groupId: key?.groupId ?? null };
    return toNewRecord({ ...draft, ...hold }, payers);
  }

  function findDuplicate(candidates: readonly IdempotencyRow[]): RecordRow | undefined {
    for (const candidate of candidates) {
      const row = selectDuplicate.get(candidate);
      if (row !== undefined) return row;
    }
    return undefined;
  }

  function write(
    { beginnings }: Needed,
    loaded: ReadonlyMap<RequestId, BegunRow>,
    { changed, removed, freed }: Decided,
  ): void {
    for (const { draft, hold } of beginnings) {
      const { requestId } = draft;
      const begun = loaded.get(requestId);
      if (begun === undefined || removed.has(requestId)) continue;
      const record = changed.get(requestId);
      if (record !== undefined && hold === undefined && isFinal(record)) {
        const idempotencyKey = freed.has(requestId) ? null : draft.idempotencyKey;
        insertEnded.run({ ...draft, ...record, idempotencyKey });
        continue;
      }
      const { key, groupId, heldMicro } = begun;
      const interruptedCostMicro = hold?.interruptedCostMicro ?? null;
      const { lastInsertRowid } = insert.run({
        ...draft,
        owner: owner(),
        key,
        groupId,
        heldMicro,
        interruptedCostMicro,
      });
      if (record !== undefined) writeChanged({ ...record, seq: Number(lastInsertRowid) }, freed);
    }
    for (const record of changed.values()) if (record.seq !== NOT_YET) writeChanged(record, freed);
    for (const requestId of removed) remove.run(loaded.get(requestId)?.seq ?? NOT_YET);
  }

  function writeChanged(record: RecordRow, freed: ReadonlySet<RequestId>): void {
    update.run(record);
    if (freed.has(record.requestId)) freeIdempotencyKey.run(record.seq);
  }
}

/**
 * Returns the changes in parts, each of which can be loaded as a whole: what removes a record or frees
 * its idempotency key comes in a part before the draft that may use that key again.
 */
function cutWhereKeysReturn(changes: readonly Change[]): readonly (readonly Change[])[] {
  const parts: Change[][] = [];
  let part: Change[] = [];
  let mayReturnKeys = false;
  for (const change of changes) {
    if (mayReturnKeys && needsKey(change)) {
      parts.push(part);
      part = [];
      mayReturnKeys = false;
    }
    part.push(change);
    mayReturnKeys ||= returnsKey(change);
  }
  return [...parts, part];
}

function needsKey(change: Change): boolean {
  return (change[0] === 'accept' || change[0] === 'acceptPaid') && change[1].idempotencyKey !== null;
}

function returnsKey(change: Change): boolean {
  switch (change[0]) {
    case 'finish':
      return change[1].freesIdempotencyKey;
    case 'discard':
    case 'undoAccept':
    case 'undoRecord':
      return true;
    default:
      return false;
  }
}
