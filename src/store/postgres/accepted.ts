import type { Operations } from '../queue/operations.ts';
import { POSTGRES } from '../sql/dialect.ts';
import { upkeepStatements } from '../sql/usage.ts';
import { numbered } from './numbered.ts';
import type { Remote, RemoteChanges } from './remote.ts';

const SQL = numbered(upkeepStatements(POSTGRES));

export const ACCEPTED_LOOKUPS: Remote<Pick<Operations, 'listAccepted'>> = {
  async listAccepted(connection, sinceMs) {
    const rows = await connection.rows<{ readonly caller: string }>(SQL.listAccepted, { sinceMs });
    return rows.map(({ caller }) => caller);
  },
};

export const ACCEPTED_CHANGES: RemoteChanges<Pick<Operations, 'rememberAccepted'>> = {
  async rememberAccepted(connection, caller, atMs) {
    const last = [
      connection.changes(SQL.rememberAccepted, { caller, atMs }),
      connection.changes(SQL.removeOldestAccepted),
    ];
    return { result: null, last };
  },
};
