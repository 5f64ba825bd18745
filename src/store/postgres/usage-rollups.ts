import {
  cover,
  DAY_HOURS,
  filtersOf,
  partsOf,
  rollupsFor,
  toRollUp,
  toTotals,
  type Rollup,
  type TotalRow,
  type TotalsDialect,
} from '../rows/usage-rollups.ts';
import type { HourSpan } from '../rows/usage.ts';
import { toJson, type Connection, type Statement } from './pool.ts';
import type { Remote, RemoteChanges } from './remote.ts';
import { POSTGRES } from '../sql/dialect.ts';
import { startsOf } from '../sql/usage.ts';
import { UPKEEP } from './statements.ts';

const DIALECT: TotalsDialect = {
  starts: startsOf(POSTGRES),
  collation: POSTGRES.byBytes,
  filter: (at) => `$${5 + at}`,
  kind: '$3',
  limit: '$4',
  rollups: 'jsonb_to_recordset($1::jsonb) AS r (start bigint, hours bigint)',
  hours: 'jsonb_to_recordset($2::jsonb) AS h (from_hour bigint, until_hour bigint)',
};

/** The planner expects more rows than there are, and would compile for longer than the statement runs. */
const COMPILE_NOTHING: Statement = { name: 'compile_nothing', text: 'SET jit = off' };

const FIND_IN: Statement = {
  name: 'find_rollups',
  text: `SELECT kind, start, hours FROM usage_rollups WHERE kind = $1 AND start >= $2 AND until <= $3
    AND is_current = 1 AND (NOT $4::boolean OR hours = ${DAY_HOURS})`,
};

export const ROLLUP_LOOKUPS: Remote<'sumTotals' | 'listRollups'> = {
  async sumTotals(connection, step) {
    const { by, span, limit } = step;
    const kind = rollupsFor(step);
    const [, found] = await Promise.all([
      connection.changes(COMPILE_NOTHING),
      kind === undefined ? [] : connection.rows<Rollup>(FIND_IN, [kind, span.from, span.until, by === 'time']),
    ]);
    const { rollups, hours } = cover(span, found);
    const spans = hours.map(({ from, until }) => ({ from_hour: from, until_hour: until }));
    return connection.rows<TotalRow>(toTotals(step, DIALECT), [
      toJson(rollups),
      toJson(spans),
      kind ?? '',
      limit,
      ...filtersOf(step).map(({ value }) => value),
    ]);
  },
  listRollups: (connection) => connection.rows<Rollup>(UPKEEP.listRollups),
};

/** "Roll": who writes usage of hours that may be rolled up shares this lock. */
const ROLLUP_LOCK = 0x52_6f_6c_6c;

const LOCK: Statement = { name: 'lock_rollups', text: `SELECT pg_advisory_xact_lock(${ROLLUP_LOCK})` };
const SHARE_LOCK: Statement = {
  name: 'share_rollups',
  text: `SELECT pg_advisory_xact_lock_shared(${ROLLUP_LOCK})`,
};

/** Sends what comes before a change of usage that may be rolled up already. */
export function forgetRollups(connection: Connection, { from, until }: HourSpan): readonly Promise<unknown>[] {
  return [connection.rows(SHARE_LOCK), connection.changes(UPKEEP.forgetRollups, { from, until })];
}

const COUNT_PARTS: Statement = {
  name: 'count_rollups',
  text: `SELECT count(*) FROM usage_rollups JOIN jsonb_to_recordset($1::jsonb) AS r (kind text, start bigint, hours bigint)
    USING (kind, start, hours) WHERE is_current = 1`,
};

const PLACES = { kind: '$1::text', start: '$2::bigint', hours: '$3::bigint', least: 'least' } as const;

export const ROLLUP_CHANGES: RemoteChanges<'rollUp'> = {
  async rollUp(connection, rollup) {
    const { kind, start, hours } = rollup;
    // What comes after the lock sees all that was written before it.
    await connection.rows(LOCK);
    const parts = partsOf(rollup);
    const [found] = await connection.rows<{ readonly count: number }>(COUNT_PARTS, [toJson(parts)]);
    if (found?.count !== parts.length) return { result: null };
    const rollUp = { name: `roll_up_${kind}_${hours}`, text: toRollUp(rollup, PLACES) };
    return {
      result: null,
      last: [
        connection.changes(UPKEEP.removeRollupSums, { ...rollup }),
        connection.changes(rollUp, [kind, start, hours]),
        connection.changes(UPKEEP.markRollup, { ...rollup }),
      ],
    };
  },
};
