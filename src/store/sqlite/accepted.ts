import type { Database } from 'better-sqlite3';
import { prepareNamed } from './named.ts';
import { UPKEEP } from './statements.ts';

export function prepareAccepted(database: Database) {
  const upsert = prepareNamed<{ caller: string; atMs: number }>(database, UPKEEP.rememberAccepted);
  const removeOldest = database.prepare(UPKEEP.removeOldestAccepted.text);
  const select = prepareNamed<{ sinceMs: number }, { caller: string }>(database, UPKEEP.listAccepted);

  function rememberAccepted(caller: string, atMs: number): null {
    upsert.run({ caller, atMs });
    removeOldest.run();
    return null;
  }

  function listAccepted(sinceMs: number): readonly string[] {
    return select.all({ sinceMs }).map(({ caller }) => caller);
  }

  return { rememberAccepted, listAccepted };
}
