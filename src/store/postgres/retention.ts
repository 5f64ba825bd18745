import { HOUR_MS } from '../../core/time.ts';
import { firstHourKept } from '../rows/request-stats.ts';
import { PRUNE_STEP } from '../queue/operations.ts';
import type { Rollup } from '../rows/usage-rollups.ts';
import type { RemoteChanges } from './remote.ts';
import type { Statement } from './pool.ts';
import { FIND_MARK } from './secret-mark.ts';
import { RECORDS, UPKEEP } from './statements.ts';

// `accept` takes the same lock, so the probe fails when the table is locked or was dropped.
const LOCK_TABLE: Statement = { name: 'probe_lock', text: 'LOCK TABLE requests IN ROW EXCLUSIVE MODE' };
const PROBE: Statement = { name: 'probe_write', text: 'INSERT INTO write_probes DEFAULT VALUES' };
const DELETE_PROBES: Statement = { name: 'delete_probes', text: 'DELETE FROM write_probes' };

export const RETENTION: RemoteChanges<'pruneSome' | 'pruneUsageSome' | 'reclaimSome' | 'probeWrite'> = {
  async pruneSome(connection, fromMs, beforeMs) {
    const rows = await connection.rows<{ readonly endedAtMs: number }>(RECORDS.prune, { fromMs, beforeMs });
    return { result: rows.map(({ endedAtMs }) => endedAtMs) };
  },
  async pruneUsageSome(connection, beforeHour) {
    await connection.changes(UPKEEP.pruneAlerts, { beforeMs: beforeHour * HOUR_MS });
    const [rollup] = await connection.rows<Rollup>(UPKEEP.pruneRollup, { beforeHour });
    if (rollup !== undefined) {
      await connection.changes(UPKEEP.removeRollupSums, { ...rollup });
      return { result: PRUNE_STEP };
    }
    const stats = await connection.changes(UPKEEP.pruneStats, { beforeHour, firstHour: firstHourKept(beforeHour) });
    if (stats === PRUNE_STEP) return { result: stats };
    const ofGroups = await connection.changes(UPKEEP.pruneGroupUsage, { beforeHour });
    if (ofGroups === PRUNE_STEP) return { result: ofGroups };
    return { result: await connection.changes(UPKEEP.pruneUsage, { beforeHour }) };
  },
  // Autovacuum of the server does it.
  reclaimSome: async () => ({ result: false }),
  async probeWrite(connection) {
    const [found] = await connection.rows<{ readonly mark: string }>(FIND_MARK);
    const statements = [LOCK_TABLE, PROBE, DELETE_PROBES];
    return { result: found?.mark ?? null, last: statements.map((statement) => connection.changes(statement)) };
  },
};
