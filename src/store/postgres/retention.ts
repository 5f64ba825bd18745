import { PRUNE_STEP, type Operations } from '../shared/operations.ts';
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

// `accept` takes the same lock, so the probe fails when the table is locked or was dropped.
const LOCK_TABLE: Statement = { name: 'probe_lock', text: 'LOCK TABLE requests IN ROW EXCLUSIVE MODE' };
const PROBE: Statement = { name: 'probe_write', text: 'INSERT INTO write_probes DEFAULT VALUES' };
const DELETE_PROBES: Statement = { name: 'delete_probes', text: 'DELETE FROM write_probes' };

export const RETENTION: RemoteChanges<Pick<Operations, 'pruneSome' | 'pruneUsageSome' | 'reclaimSome' | 'probeWrite'>> =
  {
    pruneSome: async (connection, beforeMs) => ({ result: await connection.changes(PRUNE, [beforeMs]) }),
    async pruneUsageSome(connection, beforeHour) {
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
