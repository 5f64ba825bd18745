import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../contract/ids.ts';
import { decide, neededBy, type Beginning, type Change, type Decided, type Needed } from '../book/changes.ts';
import { isOver } from '../queue/deadline.ts';
import type { Operations } from '../queue/operations.ts';
import { DRAFT_COLUMNS, HOLD_COLUMNS, listOf, namesOf, RECORD_COLUMNS, STATE_COLUMNS } from '../rows/record-columns.ts';
import { toNewRecord, toPresent, type DraftRow, type IdempotencyRow, type RecordRow } from '../rows/records.ts';
import { rowStatements } from './row-statements.ts';
import type { SqliteUnitOfWork } from './unit-of-work.ts';

type InsertRow = DraftRow & RecordRow & { readonly owner: string | null; readonly interruptedCostMicro: number | null };

/** The number that a record gets when it is inserted. Nothing asks for it before. */
const NOT_YET = 0;

export interface Changes {
  /** Carries out one change. Runs inside the transaction of a batch, which is the only writer then. */
  apply(change: Change): unknown;
  readonly lookups: Pick<Operations, 'find' | 'findAny' | 'findDuplicate'>;
  /** Writes a record that has ended. */
  update(record: RecordRow): void;
}

export function prepareChanges(
  database: Database,
  { owner, unit }: { readonly owner: () => string; readonly unit: SqliteUnitOfWork },
): Changes {
  const prepareRow = rowStatements(database);
  const inserted = { ...DRAFT_COLUMNS, ...HOLD_COLUMNS, ...STATE_COLUMNS };
  const insert = prepareRow<InsertRow>(`
    INSERT INTO requests (owner, ${namesOf(inserted)}) VALUES (:owner, ${listOf(inserted, (field) => `:${field}`)})`);
  const update = prepareRow<RecordRow>(`
    UPDATE requests SET owner = iif(:status = 'processing', owner, NULL),
      ${listOf(STATE_COLUMNS, (field, [name]) => `${name} = :${field}`)}
    WHERE seq = :seq`);
  const freeIdempotencyKey = database.prepare<[number]>('UPDATE requests SET idempotency_key = NULL WHERE seq = ?');
  const remove = database.prepare<[number]>('DELETE FROM requests WHERE seq = ?');
  // A statement with RETURNING takes half as long again, so the record is read first.
  const select = database.prepare<[RequestId], RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = ?`,
  );
  const selectDuplicate = database.prepare<[IdempotencyRow], RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM requests WHERE caller = :caller AND idempotency_key = :idempotencyKey AND body = :body`,
  );

  return {
    apply(change) {
      const changes = [change];
      const needed = neededBy(changes);
      const { late, originals, records } = load(needed);
      const decided = decide(changes, { late, originals, records, unit });
      write(needed, records, decided);
      return decided.results[0];
    },
    lookups: {
      find(callers, requestId) {
        const row = select.get(requestId);
        return row !== undefined && callers.includes(row.caller) ? row : null;
      },
      findAny: (requestId) => select.get(requestId) ?? null,
      findDuplicate: (candidates) => findDuplicate(candidates) ?? null,
    },
    update: (record) => void update.run(record),
  };

  function load({ beginnings, records: requestIds }: Needed) {
    const records = new Map<RequestId, RecordRow>();
    const originals = new Map<RequestId, RecordRow>();
    const late = new Set<RequestId>();
    for (const { draft, earlier, hold } of beginnings) {
      if (isOver(draft)) {
        late.add(draft.requestId);
        continue;
      }
      const original = findDuplicate([...earlier, ...toPresent(draft)]);
      if (original === undefined) records.set(draft.requestId, begin(draft, hold));
      else originals.set(draft.requestId, original);
    }
    for (const requestId of requestIds) {
      const record = select.get(requestId);
      if (record !== undefined) records.set(requestId, record);
    }
    return { records, originals, late };
  }

  function begin(draft: DraftRow, hold: Beginning['hold']): RecordRow {
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
    loaded: ReadonlyMap<RequestId, RecordRow>,
    { changed, removed, freed }: Decided,
  ): void {
    for (const { draft, hold } of beginnings) {
      const { requestId } = draft;
      const begun = loaded.get(requestId);
      if (begun === undefined || removed.includes(requestId)) continue;
      const record = changed.find((each) => each.requestId === requestId) ?? begun;
      const isProcessing = record.status === 'processing';
      const interruptedCostMicro = hold?.interruptedCostMicro ?? null;
      insert.run({ ...draft, ...record, owner: isProcessing ? owner() : null, interruptedCostMicro });
    }
    for (const record of changed) {
      if (record.seq === NOT_YET) continue;
      update.run(record);
      if (freed.has(record.requestId)) freeIdempotencyKey.run(record.seq);
    }
    for (const requestId of removed) remove.run(loaded.get(requestId)?.seq ?? NOT_YET);
  }
}
