import type { StatsRow } from '../rows/request-stats.ts';
import { toJson, type Statement } from './pool.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import { UPKEEP } from './statements.ts';

const ADD: Statement = {
  name: 'add_request_stats',
  text: `
    INSERT INTO request_stats (scope, per, start, model, counts)
    SELECT s->>'scope', s->>'per', (s->>'start')::bigint, s->>'model', s->>'counts'
    FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS stats (s, place) ORDER BY place
    ON CONFLICT (scope, per, start, model) DO UPDATE SET counts = (
      SELECT jsonb_object_agg(key, total)::text FROM (
        SELECT key, sum(value::bigint) AS total FROM (
          SELECT key, value FROM jsonb_each_text(request_stats.counts::jsonb)
          UNION ALL SELECT key, value FROM jsonb_each_text(excluded.counts::jsonb)) AS counted
        GROUP BY key) AS sums)`,
};

export const STATS_LOOKUPS: Remote<'listStats'> = {
  async listStats(connection, { scopes, per, from, until }) {
    const of = (scope: string) => connection.rows<StatsRow>(UPKEEP.listStats, { scope, per, from, until });
    return (await Promise.all(scopes.map(of))).flat();
  },
};

export const STATS_CHANGES: RemoteChanges<'addStats'> = {
  async addStats(connection, rows) {
    return { result: null, last: [connection.changes(ADD, [toJson(rows)])] };
  },
};
