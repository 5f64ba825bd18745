import type { Database, Statement } from 'better-sqlite3';
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
  type TotalsStep,
} from '../rows/usage-rollups.ts';
import { SQLITE } from '../sql/dialect.ts';
import { startsOf } from '../sql/usage.ts';
import { prepareNamed } from './named.ts';
import { UPKEEP } from './statements.ts';

// The order of a CROSS JOIN stays as it is written.
const DIALECT: TotalsDialect = {
  starts: startsOf(SQLITE),
  collation: '',
  filter: (at) => `:filter${at}`,
  kind: ':kind',
  limit: ':limit',
  rollups: `(SELECT value ->> 'start' AS start, value ->> 'hours' AS hours FROM json_each(:rollups)) AS r CROSS`,
  hours: `(SELECT value ->> 'from' AS from_hour, value ->> 'until' AS until_hour FROM json_each(:hours)) AS h CROSS`,
  // The primary key begins with the group. By the index of the hours, each row would be a search of its own.
  groups: {
    join: `
      JOIN (
        WITH RECURSIVE every (id) AS (
          SELECT min(group_id) FROM group_usage
          UNION ALL
          SELECT (SELECT min(group_id) FROM group_usage WHERE group_id > every.id) FROM every WHERE every.id IS NOT NULL)
        SELECT id FROM every WHERE id IS NOT NULL) AS g CROSS`,
    id: 'g.id',
  },
};

export function prepareUsageRollups(database: Database) {
  const selectIn = database.prepare<[TotalsStep['span'] & { readonly kind: string; readonly isByTime: 0 | 1 }], Rollup>(
    `SELECT kind, start, hours FROM usage_rollups WHERE kind = :kind AND start >= :from AND until <= :until
       AND is_current = 1 AND (:isByTime = 0 OR hours = ${DAY_HOURS})`,
  );
  const prepared = new Map<string, Statement<[object], TotalRow>>();

  function sumTotals(step: TotalsStep): readonly TotalRow[] {
    const { by, span, limit } = step;
    const kind = rollupsFor(step);
    const isByTime = by === 'time' ? 1 : 0;
    const { rollups, hours } = cover(span, kind === undefined ? [] : selectIn.all({ kind, isByTime, ...span }));
    const { name, text } = toTotals(step, DIALECT);
    const statement = prepared.get(name) ?? database.prepare<[object], TotalRow>(text);
    prepared.set(name, statement);
    const places = { rollups: JSON.stringify(rollups), hours: JSON.stringify(hours) };
    const filters = filtersOf(step).map(({ value }, at): [string, unknown] => [`filter${at}`, value]);
    return statement.all({ kind: kind ?? '', limit, ...places, ...Object.fromEntries(filters) });
  }

  const selectCurrent = prepareNamed<object, Rollup>(database, UPKEEP.listRollups);
  const countCurrent = database
    .prepare<[Rollup], number>(
      'SELECT count(*) FROM usage_rollups WHERE kind = :kind AND start = :start AND hours = :hours AND is_current = 1',
    )
    .pluck();
  const removeSums = prepareNamed<Rollup>(database, UPKEEP.removeRollupSums);
  const mark = prepareNamed<Rollup>(database, UPKEEP.markRollup);

  function rollUp(rollup: Rollup): null {
    if (!partsOf(rollup).every((part) => countCurrent.get(part) === 1)) return null;
    removeSums.run(rollup);
    database.prepare(toRollUp(rollup, { kind: ':kind', start: ':start', hours: ':hours', least: 'min' })).run(rollup);
    mark.run(rollup);
    return null;
  }

  return { sumTotals, listRollups: () => selectCurrent.all({}), rollUp };
}
