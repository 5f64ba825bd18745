import type { Database } from 'better-sqlite3';
import type { StatsRow, StatsStep } from '../rows/request-stats.ts';
import { prepareNamed } from './named.ts';
import { UPKEEP } from './statements.ts';

export function prepareRequestStats(database: Database) {
  const add = database.prepare<[StatsRow]>(`
    INSERT INTO request_stats (scope, per, start, model, counts) VALUES (:scope, :per, :start, :model, :counts)
    ON CONFLICT DO UPDATE SET counts = (
      SELECT json_group_object(key, total) FROM (
        SELECT key, sum(value) AS total FROM (
          SELECT key, value FROM json_each(request_stats.counts)
          UNION ALL SELECT key, value FROM json_each(excluded.counts))
        GROUP BY key))`);

  function addStats(rows: readonly StatsRow[]): null {
    for (const row of rows) add.run(row);
    return null;
  }

  const select = prepareNamed<Omit<StatsStep, 'scopes'> & { readonly scope: string }, StatsRow>(
    database,
    UPKEEP.listStats,
  );

  function listStats({ scopes, ...step }: StatsStep): readonly StatsRow[] {
    return scopes.flatMap((scope) => select.all({ ...step, scope }));
  }

  return { addStats, listStats };
}
