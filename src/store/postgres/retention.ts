import { HOUR_MS } from '../../core/time.ts';
import { firstHourKept } from '../rows/request-stats.ts';
import { PRUNE_STEP, type Operations } from '../queue/operations.ts';
import type { RemoteChanges } from './remote.ts';
import type { Statement } from './pool.ts';
import { FIND_MARK } from './secret-mark.ts';

// Several gateways prune concurrently; each skips the rows that another one is deleting.
const PRUNE: Statement = {
  name: 'prune_requests',
  text: `
    DELETE FROM requests WHERE seq IN (
      SELECT seq FROM requests WHERE completed_at_ms < $1 ORDER BY completed_at_ms LIMIT ${PRUNE_STEP}
      FOR UPDATE SKIP LOCKED)`,
};

const PRUNE_USAGE: Statement = {
  name: 'prune_usage',
  text: `
    DELETE FROM usage WHERE (hour, caller, model) IN (
      SELECT hour, caller, model FROM usage WHERE hour < $1 ORDER BY hour LIMIT ${PRUNE_STEP}
      FOR UPDATE SKIP LOCKED)`,
};

const PRUNE_GROUP_USAGE: Statement = {
  name: 'prune_group_usage',
  text: `
    DELETE FROM group_usage WHERE (group_id, hour, caller, model) IN (
      SELECT group_id, hour, caller, model FROM group_usage WHERE hour < $1 ORDER BY hour LIMIT ${PRUNE_STEP}
      FOR UPDATE SKIP LOCKED)`,
};

const PRUNE_ROLLUP: Statement = {
  name: 'prune_rollup',
  text: `
    WITH rollup AS (
      DELETE FROM usage_rollups WHERE (kind, start, hours) IN (
        SELECT kind, start, hours FROM usage_rollups WHERE start < $1 ORDER BY until LIMIT 1 FOR UPDATE SKIP LOCKED)
      RETURNING kind, start, hours),
    sums AS (DELETE FROM usage_sums AS s USING rollup AS r WHERE (s.kind, s.start, s.hours) = (r.kind, r.start, r.hours))
    SELECT 1 FROM rollup`,
};

const PRUNE_STATS: Statement = {
  name: 'prune_request_stats',
  text: `
    DELETE FROM request_stats WHERE (scope, per, start, model) IN (
      SELECT scope, per, start, model FROM request_stats
      WHERE (per IN ('day', 'month') AND start < $1) OR (per = 'hour' AND start < $2) LIMIT ${PRUNE_STEP}
      FOR UPDATE SKIP LOCKED)`,
};

const PRUNE_ALERTS: Statement = { name: 'prune_alerts', text: 'DELETE FROM alerts WHERE claimed_at_ms < $1' };

// `accept` takes the same lock, so the probe fails when the table is locked or was dropped.
const LOCK_TABLE: Statement = { name: 'probe_lock', text: 'LOCK TABLE requests IN ROW EXCLUSIVE MODE' };
const PROBE: Statement = { name: 'probe_write', text: 'INSERT INTO write_probes DEFAULT VALUES' };
const DELETE_PROBES: Statement = { name: 'delete_probes', text: 'DELETE FROM write_probes' };

export const RETENTION: RemoteChanges<Pick<Operations, 'pruneSome' | 'pruneUsageSome' | 'reclaimSome' | 'probeWrite'>> =
  {
    pruneSome: async (connection, beforeMs) => ({ result: await connection.changes(PRUNE, [beforeMs]) }),
    async pruneUsageSome(connection, beforeHour) {
      await connection.changes(PRUNE_ALERTS, [beforeHour * HOUR_MS]);
      if ((await connection.rows(PRUNE_ROLLUP, [beforeHour])).length > 0) return { result: PRUNE_STEP };
      const stats = await connection.changes(PRUNE_STATS, [beforeHour, firstHourKept(beforeHour)]);
      if (stats === PRUNE_STEP) return { result: stats };
      const ofGroups = await connection.changes(PRUNE_GROUP_USAGE, [beforeHour]);
      if (ofGroups === PRUNE_STEP) return { result: ofGroups };
      return { result: await connection.changes(PRUNE_USAGE, [beforeHour]) };
    },
    // Autovacuum of the server does it.
    reclaimSome: async () => ({ result: false }),
    async probeWrite(connection) {
      const [found] = await connection.rows<{ readonly mark: string }>(FIND_MARK);
      const statements = [LOCK_TABLE, PROBE, DELETE_PROBES];
      return { result: found?.mark ?? null, last: statements.map((statement) => connection.changes(statement)) };
    },
  };
