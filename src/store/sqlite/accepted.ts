import type { Database } from 'better-sqlite3';
import { MAX_ACCEPTED } from '../queue/operations.ts';

export function prepareAccepted(database: Database) {
  const upsert = database.prepare<[string, number]>(`
    INSERT INTO accepted_callers (caller, accepted_at_ms) VALUES (?, ?)
    ON CONFLICT (caller) DO UPDATE SET accepted_at_ms = excluded.accepted_at_ms`);
  const removeOldest = database.prepare(`
    DELETE FROM accepted_callers WHERE caller IN (
      SELECT caller FROM accepted_callers ORDER BY accepted_at_ms DESC LIMIT -1 OFFSET ${MAX_ACCEPTED})`);

  function rememberAccepted(caller: string, atMs: number): null {
    upsert.run(caller, atMs);
    removeOldest.run();
    return null;
  }

  const select = database
    .prepare<[number], string>(
      'SELECT caller FROM accepted_callers WHERE accepted_at_ms >= ? ORDER BY accepted_at_ms, caller',
    )
    .pluck();

  function listAccepted(sinceMs: number): readonly string[] {
    return select.all(sinceMs);
  }

  return { rememberAccepted, listAccepted };
}
