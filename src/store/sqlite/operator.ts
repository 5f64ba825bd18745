import type { Database } from 'better-sqlite3';

export function prepareOperator(database: Database) {
  // Goes from one caller to the next by the index, whatever number of records they have.
  const selectCallers = database
    .prepare<[{ readonly prefix: string; readonly limit: number }], string>(
      `WITH RECURSIVE found (caller) AS (
        SELECT min(caller) FROM requests WHERE caller >= :prefix
        UNION ALL
        SELECT (SELECT min(caller) FROM requests WHERE caller > found.caller) FROM found
        WHERE substr(found.caller, 1, length(:prefix)) = :prefix)
      SELECT caller FROM found WHERE substr(caller, 1, length(:prefix)) = :prefix LIMIT :limit`,
    )
    .pluck();

  function findCallers(prefix: string, limit: number): readonly string[] {
    return selectCallers.all({ prefix, limit });
  }

  return { findCallers };
}
