import { MAX_ACCEPTED, type Operations } from '../queue/operations.ts';
import type { Statement } from './pool.ts';
import type { Remote, RemoteChanges } from './remote.ts';

const UPSERT: Statement = {
  name: 'remember_accepted',
  text: `
    INSERT INTO accepted_callers (caller, accepted_at_ms) VALUES ($1, $2)
    ON CONFLICT (caller) DO UPDATE SET accepted_at_ms = excluded.accepted_at_ms`,
};

// Gateways that do this at the same time skip each other's rows.
const REMOVE_OLDEST: Statement = {
  name: 'remove_oldest_accepted',
  text: `
    DELETE FROM accepted_callers WHERE caller IN (
      SELECT caller FROM accepted_callers ORDER BY accepted_at_ms DESC OFFSET ${MAX_ACCEPTED}
      FOR UPDATE SKIP LOCKED)`,
};

const LIST: Statement = {
  name: 'list_accepted',
  text: 'SELECT caller FROM accepted_callers WHERE accepted_at_ms >= $1 ORDER BY accepted_at_ms, caller',
};

export const ACCEPTED_LOOKUPS: Remote<Pick<Operations, 'listAccepted'>> = {
  async listAccepted(connection, sinceMs) {
    const rows = await connection.rows<{ readonly caller: string }>(LIST, [sinceMs]);
    return rows.map(({ caller }) => caller);
  },
};

export const ACCEPTED_CHANGES: RemoteChanges<Pick<Operations, 'rememberAccepted'>> = {
  async rememberAccepted(connection, caller, atMs) {
    const last = [connection.changes(UPSERT, [caller, atMs]), connection.changes(REMOVE_OLDEST)];
    return { result: null, last };
  },
};
