import type { CalendarDay } from '../core/books/keys.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.ts';

export interface Calendar {
  at(atMs: number): CalendarDay;
}

/** Returns the days of a time zone, such as `Europe/Berlin`. Throws RangeError for an unknown one. */
export function createCalendar(timeZone: string): Calendar {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  });
  let latest: CalendarDay | undefined;

  /** Returns the date on the wall at this moment, as if it were one of UTC. */
  function dateOf(atMs: number): Date {
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
    return new Date(Date.UTC(parts.get('year') ?? 0, (parts.get('month') ?? 1) - 1, parts.get('day')));
  }

  /** Looks for the first minute of a date, because clocks may change at midnight. No zone is further off. */
  function startOf(dateMs: number): number {
    let [before, notBefore] = [dateMs - FURTHEST_MS, dateMs + FURTHEST_MS];
    while (notBefore - before > MINUTE_MS) {
      const middle = before + Math.floor((notBefore - before) / MINUTE_MS / 2) * MINUTE_MS;
      if (dateOf(middle).getTime() < dateMs) before = middle;
      else notBefore = middle;
    }
    return notBefore;
  }

  function dayAt(atMs: number): CalendarDay {
    const date = dateOf(atMs);
    const [year, month, dateMs] = [date.getUTCFullYear(), date.getUTCMonth(), date.getTime()];
    const day = dateMs / DAY_MS;
    const monday = day - ((day + DAYS_TO_THURSDAY) % DAYS_OF_WEEK);
    const week = (monday + DAYS_TO_THURSDAY) / DAYS_OF_WEEK;
    const name = date.toISOString().slice(0, 'yyyy-mm-dd'.length);
    const span = (fromMs: number, untilMs: number) => ({ startsAtMs: startOf(fromMs), endsAtMs: startOf(untilMs) });
    return {
      day: { number: day, name, ...span(dateMs, dateMs + DAY_MS) },
      week: { number: week, name: String(week), ...span(monday * DAY_MS, (monday + DAYS_OF_WEEK) * DAY_MS) },
      month: {
        number: year * 12 + month,
        name: name.slice(0, 'yyyy-mm'.length),
        ...span(Date.UTC(year, month), Date.UTC(year, month + 1)),
      },
    };
  }

  return {
    at(atMs) {
      const isLatest = latest !== undefined && atMs >= latest.day.startsAtMs && atMs < latest.day.endsAtMs;
      latest = latest !== undefined && isLatest ? latest : dayAt(atMs);
      return latest;
    },
  };
}

const FURTHEST_MS = 16 * HOUR_MS;
const DAYS_OF_WEEK = 7;
/** From Monday to the day with which 1970 began. */
const DAYS_TO_THURSDAY = 3;
