import { BEGUN_COLUMNS, RECORD_COLUMNS } from '../rows/record-columns.ts';
import { toListedRows, toListQueries } from '../rows/list-query.ts';
import type { RecordRow } from '../rows/records.ts';
import { named, type Dialect } from './dialect.ts';
import { first, rows, type SteppedOperations } from './steps.ts';

type RecordOperation = 'find' | 'findAny' | 'findDuplicate' | 'findByIdempotencyKey' | 'list' | 'findCallers';

export function recordOperations(dialect: Dialect): SteppedOperations<RecordOperation> {
  const sql = recordStatements(dialect);
  return {
    *find(callers, requestId) {
      const row = yield* first<RecordRow>(sql.find, { requestId });
      return row !== undefined && callers.includes(row.caller) ? row : null;
    },
    *findAny(requestId) {
      return (yield* first<RecordRow>(sql.find, { requestId })) ?? null;
    },
    *findDuplicate(candidates) {
      for (const candidate of candidates) {
        const row = yield* first<RecordRow>(sql.findDuplicate, candidate);
        if (row !== undefined) return row;
      }
      return null;
    },
    *findByIdempotencyKey(candidates) {
      const found = yield* rows<RecordRow>(sql.findByIdempotencyKey, ...candidates);
      return found.toSorted((one, other) => other.seq - one.seq)[0] ?? null;
    },
    *list(step) {
      const listed = toListQueries(step, dialect.byBytes);
      const found = yield* rows<RecordRow>(listed.rows, listed.rows.values);
      const last =
        found.length < step.limit && listed.floor !== null
          ? yield* first<RecordRow>(listed.floor, listed.floor.values)
          : undefined;
      return toListedRows(found, step.limit, last?.requestId ?? null);
    },
    *findCallers(prefix, limit) {
      const found = yield* rows<{ readonly caller: string }>(sql.findCallers, { prefix, limit });
      return found.map(({ caller }) => caller);
    },
  };
}

export function recordStatements({ byBytes }: Dialect) {
  return named('record', {
    findBegun: `SELECT ${BEGUN_COLUMNS} FROM requests WHERE request_id = :requestId`,
    find: `SELECT ${RECORD_COLUMNS} FROM requests WHERE request_id = :requestId`,
    findDuplicate: `
      SELECT ${RECORD_COLUMNS} FROM requests
      WHERE caller = :caller AND idempotency_key = :idempotencyKey AND body = :body`,
    findByIdempotencyKey: `
      SELECT ${RECORD_COLUMNS} FROM requests WHERE seq = (
        SELECT max(seq) FROM requests WHERE caller = :caller AND idempotency_key = :idempotencyKey)`,
    // Goes from one caller to the next by the index, whatever number of records they have.
    findCallers: `
      WITH RECURSIVE found (caller) AS (
        SELECT min(caller${byBytes}) FROM requests WHERE caller${byBytes} >= :prefix
        UNION ALL
        SELECT (SELECT min(requests.caller${byBytes}) FROM requests WHERE requests.caller${byBytes} > found.caller)
        FROM found WHERE substr(found.caller, 1, length(:prefix)) = :prefix)
      SELECT caller FROM found WHERE substr(caller, 1, length(:prefix)) = :prefix LIMIT :limit`,
    // The index on owners has only unfinished records.
    listAsked: `
      SELECT request_id AS "requestId", CASE WHEN cancel_requested_at_ms IS NULL THEN 0 ELSE 1 END AS "isCancelRequested",
        CASE WHEN confirmed = 0 THEN 1 ELSE 0 END AS "isDoubted"
      FROM requests WHERE owner = :owner AND (cancel_requested_at_ms IS NOT NULL OR confirmed = 0)`,
    doubt: `
      UPDATE requests SET confirmed = CASE status WHEN 'processing' THEN 0 ELSE 1 END
      WHERE request_id = :requestId AND (confirmed IS NULL OR confirmed <> 1)`,
  });
}
