import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../contract/ids.ts';
import type { AskedRow } from '../rows/records.ts';

/** What other processes ask the owner of a record: to cancel it, and whether it was acknowledged. */
export function prepareDoubts(database: Database, owner: () => string) {
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

  return { listAsked, doubt, confirm };
}
