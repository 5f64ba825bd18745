import type { Database } from 'better-sqlite3';
import { SQLITE } from '../sql/dialect.ts';
import { upkeepStatements } from '../sql/usage.ts';
import { prepareNamed } from './named.ts';

const SQL = upkeepStatements(SQLITE);

export function prepareAccepted(database: Database) {
  const upsert = prepareNamed<{ caller: string; atMs: number }>(database, SQL.rememberAccepted);
  const removeOldest = database.prepare(SQL.removeOldestAccepted.text);
  const select = prepareNamed<{ sinceMs: number }, { caller: string }>(database, SQL.listAccepted);

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
