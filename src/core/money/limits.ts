/**
 * What limits a key or a group. All that stores, counts, changes or shows limits runs over these tables, so that
 * a limit is added here, in its schemas and in the migrations, and a window in `core/books/calendar.ts` too.
 */

/** `limit` is its field and, in snake case, its column; `wire` its name in JSON and CSV. */
export const RATE_LIMITS = [
  {
    limit: 'requestsPerMinute',
    wire: 'requests_per_minute',
    option: 'rpm',
    flag: '--rpm <n>',
    help: 'requests per minute',
  },
  {
    limit: 'tokensPerMinute',
    wire: 'tokens_per_minute',
    option: 'tpm',
    flag: '--tpm <n>',
    help: 'tokens per minute',
  },
] as const;

/** `per` is the number of the latest window that has a charge, `spent` what was charged in it, and `now` its name. */
export const SPEND_WINDOWS = [
  {
    per: 'day',
    spent: 'daySpentMicro',
    now: 'today',
    limit: 'spendPerDayMicro',
    wire: 'spend_per_day',
    option: 'spendPerDay',
    flag: '--spend-per-day <amount>',
    help: 'spend limit in the currency of the prices, such as 5.00',
  },
  {
    per: 'week',
    spent: 'weekSpentMicro',
    now: 'this_week',
    limit: 'spendPerWeekMicro',
    wire: 'spend_per_week',
    option: 'spendPerWeek',
    flag: '--spend-per-week <amount>',
    help: 'the same per week, from Monday on',
  },
  {
    per: 'month',
    spent: 'monthSpentMicro',
    now: 'this_month',
    limit: 'spendPerMonthMicro',
    wire: 'spend_per_month',
    option: 'spendPerMonth',
    flag: '--spend-per-month <amount>',
    help: 'the same per month, such as 100.00',
  },
] as const;

export const LIMITS = [...RATE_LIMITS, ...SPEND_WINDOWS] as const;

export type SpendWindow = (typeof SPEND_WINDOWS)[number];
export type RateLimits = Limits<(typeof RATE_LIMITS)[number]>;
export type SpendLimits = Limits<SpendWindow>;
type Limits<Entry extends { readonly limit: string }> = Readonly<Record<Entry['limit'], number | null>>;

/** What a key or a group may use. Null is no limit. */
export interface KeyLimits extends RateLimits, SpendLimits {}

/** What was spent in each window. */
export type Spent = Readonly<Record<SpendWindow['spent'], number>>;

/** Returns whether there is a limit of spending. */
export function limitsSpending(limits: SpendLimits): boolean {
  for (const { limit } of SPEND_WINDOWS) if (limits[limit] !== null) return true;
  return false;
}
