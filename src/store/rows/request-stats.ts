import { namesOf } from '../../core/ids.ts';
import { isObject, readJson } from '../../core/json.ts';
import { DAY_MS, HOUR_MS } from '../../core/time.ts';
import { USAGE_KEPT_DAYS, type UsageQuery } from '../../core/books/keys.ts';
import {
  addCounts,
  type RequestStats,
  type RequestStatsQuery,
  type RequestStatsRow,
} from '../../core/books/request-stats.ts';
import type { HourSpan } from './usage.ts';

type Per = UsageQuery['per'];

/** `scope` is a caller, a group or empty for all; `counts` are in JSON. */
export interface StatsRow {
  readonly scope: string;
  readonly per: Per;
  readonly start: number;
  readonly model: string;
  readonly counts: string;
}

export interface StatsStep extends HourSpan {
  readonly scopes: readonly string[];
  readonly per: Per;
}

const ALL = '';
const PERS: readonly Per[] = ['hour', 'day', 'month'];
/** Usage can be asked for by hours of at most 31 days. */
const HOURS_KEPT_DAYS = 32;

/** Each count is there for a caller, its group and all, by the hour, day and month. */
export function toRows(stats: readonly RequestStats[]): readonly StatsRow[] {
  const sums = new Map<string, Omit<StatsRow, 'counts'> & { readonly counts: Map<string, number> }>();
  for (const { caller, groupId, model, hour, counts } of stats) {
    for (const scope of [caller, ...(groupId === null ? [] : [groupId]), ALL]) {
      for (const per of PERS) {
        const start = startOf(hour, per);
        const key = JSON.stringify([scope, per, start, model]);
        const sum = sums.get(key) ?? { scope, per, start, model, counts: new Map<string, number>() };
        sums.set(key, sum);
        addCounts(sum.counts, counts);
      }
    }
  }
  // Sorted, so that all gateways take their locks in one order.
  return [...sums]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { counts, ...row }]) => ({ ...row, counts: JSON.stringify(Object.fromEntries(counts)) }));
}

/** Returns from when on single hours stay, where days stay from `beforeHour` on. */
export function firstHourKept(beforeHour: number): number {
  return beforeHour + (USAGE_KEPT_DAYS - HOURS_KEPT_DAYS) * 24;
}

export function toStep({ of, per, fromMs, untilMs }: RequestStatsQuery): StatsStep {
  const scopes = of === 'all' ? [ALL] : typeof of === 'string' ? [of] : namesOf(of);
  return { scopes, per, from: startOf(Math.floor(fromMs / HOUR_MS), per), until: Math.ceil(untilMs / HOUR_MS) };
}

function startOf(hour: number, per: Per): number {
  if (per === 'hour') return hour;
  const day = new Date(hour * HOUR_MS);
  if (per === 'month') day.setUTCDate(1);
  return (Math.floor(day.getTime() / DAY_MS) * DAY_MS) / HOUR_MS;
}

export function toStatsRow({ start, model, counts }: StatsRow): RequestStatsRow {
  const read = readJson(counts);
  // A damaged text counts nothing.
  const entries = isObject(read)
    ? Object.entries(read).filter((entry): entry is [string, number] => typeof entry[1] === 'number')
    : [];
  return { startMs: start * HOUR_MS, model, counts: Object.fromEntries(entries) };
}
