import type { Database } from 'better-sqlite3';
import type { RequestId } from '../../contract/ids.ts';
import type { AskedRow } from '../rows/records.ts';
import { prepareNamed } from './named.ts';
import { SQLITE } from '../sql/dialect.ts';
import { recordStatements } from '../sql/records.ts';

const RECORDS = recordStatements(SQLITE);

/** What other processes ask the owner of a record: to cancel it, and whether it was acknowledged. */
export function prepareDoubts(database: Database, owner: () => string) {
  const select = prepareNamed<{ owner: string }, AskedRow>(database, RECORDS.listAsked);
  const markDoubted = prepareNamed<{ requestId: RequestId }>(database, RECORDS.doubt);
  const markConfirmed = prepareNamed<{ requestId: RequestId; owner: string }>(database, {
    text: 'UPDATE requests SET confirmed = 1 WHERE request_id = :requestId AND owner = :owner',
  });

  function doubt(requestId: RequestId): null {
    markDoubted.run({ requestId });
    return null;
  }

  function confirm(requestIds: readonly RequestId[]): null {
    for (const requestId of requestIds) markConfirmed.run({ requestId, owner: owner() });
    return null;
  }

  return { listAsked: (): readonly AskedRow[] => select.all({ owner: owner() }), doubt, confirm };
}
