import type { Remote, RemoteChanges } from './remote.ts';
import { UPKEEP } from './statements.ts';

export const ACCEPTED_LOOKUPS: Remote<'listAccepted'> = {
  async listAccepted(connection, sinceMs) {
    const rows = await connection.rows<{ readonly caller: string }>(UPKEEP.listAccepted, { sinceMs });
    return rows.map(({ caller }) => caller);
  },
};

export const ACCEPTED_CHANGES: RemoteChanges<'rememberAccepted'> = {
  async rememberAccepted(connection, caller, atMs) {
    const last = [
      connection.changes(UPKEEP.rememberAccepted, { caller, atMs }),
      connection.changes(UPKEEP.removeOldestAccepted),
    ];
    return { result: null, last };
  },
};
