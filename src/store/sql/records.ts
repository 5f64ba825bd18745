import { PRUNE_STEP } from '../queue/operations.ts';
import { BEGUN_COLUMNS, RECORD_COLUMNS } from '../rows/record-columns.ts';
import { named, type Dialect } from './dialect.ts';

export function recordStatements({ byBytes, skipLocked }: Dialect) {
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
    prune: `
      DELETE FROM requests WHERE seq IN (
        SELECT seq FROM requests WHERE completed_at_ms >= :fromMs AND completed_at_ms < :beforeMs ORDER BY completed_at_ms
        LIMIT ${PRUNE_STEP}${skipLocked})
      RETURNING completed_at_ms AS "endedAtMs"`,
  });
}
