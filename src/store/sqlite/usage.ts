import type { Database } from 'better-sqlite3';
import type { UsageQuery } from '../accounts.ts';
import type { RecordRow } from '../engine/rows.ts';
import { toUsageSum, USAGE_SUMS, type HourSpan, type UsageSumRow } from '../engine/usage-rows.ts';

/** The hour in which the hour of a row begins to be counted. */
const STARTS = {
  hour: 'hour',
  day: 'hour / 24 * 24',
  month: `unixepoch(hour * 3600, 'unixepoch', 'start of month') / 3600`,
} satisfies Record<UsageQuery['per'], string>;

export type NoteUsage = ReturnType<typeof prepareNotes>;

/** Adding a record that has just become final to what its caller used of its model in this hour. */
export function prepareNotes(database: Database) {
  // Sums stay within what JavaScript counts exactly, whatever backends report: with a row that takes no more, no record
  // could become final.
  const sum = (column: string) => `${column} = min(${column} + excluded.${column}, ${Number.MAX_SAFE_INTEGER})`;
  const upsert = database.prepare<[...UsageSumRow]>(`
    INSERT INTO usage (hour, caller, model, ${USAGE_SUMS.join(', ')}) VALUES (?, ?, ?, ${USAGE_SUMS.map(() => '?').join(', ')})
    ON CONFLICT DO UPDATE SET ${USAGE_SUMS.map(sum).join(', ')}`);

  return (record: RecordRow): void => {
    upsert.run(...toUsageSum(record));
  };
}

/** What was used, by UTC hour, caller and model, and what is being used. */
export function prepareUsage(database: Database) {
  const prepareSum = (per: UsageQuery['per'], whose: string) =>
    database
      .prepare<{ caller: string | null } & HourSpan, UsageSumRow>(`
      SELECT ${STARTS[per]} AS start, caller, model, ${USAGE_SUMS.map((name) => `sum(${name})`).join(', ')}
      FROM usage WHERE hour >= :from AND hour < :until ${whose}
      GROUP BY start, caller, model ORDER BY start`)
      .raw();
  const prepareSums = (whose: string) => ({
    hour: prepareSum('hour', whose),
    day: prepareSum('day', whose),
    month: prepareSum('month', whose),
  });
  const sumAll = prepareSums('');
  const sumOwn = prepareSums('AND caller = :caller');

  /** Null stands for all callers. */
  function sumUsage(caller: string | null, per: UsageQuery['per'], span: HourSpan): readonly UsageSumRow[] {
    return (caller === null ? sumAll : sumOwn)[per].all({ caller, ...span });
  }

  const selectSpan = database.prepare<[], HourSpan>(
    `SELECT coalesce(min(hour), 0) AS "from", coalesce(max(hour) + 1, 0) AS until FROM usage`,
  );

  /** The hours of which anything is known. */
  function findUsageSpan(): HourSpan {
    return selectSpan.get() ?? { from: 0, until: 0 };
  }

  return { sumUsage, findUsageSpan };
}
