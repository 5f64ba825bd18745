import type { Database } from 'better-sqlite3';
import { RECORD_COLUMNS, type RecordRow } from '../shared/rows.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Owners } from './owner-lock.ts';

const STEP = 500;

export function prepareRecovery(
  database: Database,
  { own, owners }: { readonly own: string; readonly owners: Owners },
  { charges }: Pick<Lifecycle, 'charges'>,
) {
  const selectOwners = database
    .prepare<[], string>('SELECT DISTINCT owner FROM requests WHERE owner IS NOT NULL')
    .pluck();

  const closeSome = database.prepare<[number, string, number], RecordRow>(`
    UPDATE requests SET
      owner = NULL,
      status = iif(cancel_requested_at_ms IS NULL, 'failed', 'cancelled'),
      error_code = iif(cancel_requested_at_ms IS NULL, 'gateway_interrupted', 'request_cancelled'),
      completed_at_ms = max(?, created_at_ms),
      input_tokens = estimated_input_tokens,
      cached_tokens = 0,
      cache_write_tokens = 0,
      output_tokens = 0,
      reasoning_tokens = 0,
      total_tokens = estimated_input_tokens,
      usage_estimated = 1,
      cost_micro = interrupted_cost_micro
    WHERE seq IN (SELECT seq FROM requests WHERE owner = ? LIMIT ?)
    RETURNING ${RECORD_COLUMNS}`);

  function endSome(nowMs: number, dead: string, limit: number): number {
    const closed = closeSome.all(nowMs, dead, limit);
    for (const record of closed) charges.end(record);
    return closed.length;
  }

  function recoverSome(nowMs: number): number {
    const others = new Set([...selectOwners.all(), ...owners.list()]);
    others.delete(own);
    let left = STEP;
    for (const other of others) {
      if (left <= 0 || !owners.isDead(other)) continue;
      const ended = endSome(nowMs, other, left);
      // The file goes last, since a missing one is no proof of death.
      if (ended < left) owners.forget(other);
      left -= ended;
    }
    return STEP - left;
  }

  return { recoverSome, listUnfinished: () => [] };
}
