/**
 * What limits a key or a group. All that stores, counts, changes or shows limits runs over these tables, so that
 * a limit is added here, in its schemas and in the migrations, and a window in `store/calendar.ts` too.
 */

export const RATE_LIMITS = [rateOf('requests', 'rpm'), rateOf('tokens', 'tpm')] as const;

export const SPEND_WINDOWS = [
  windowOf('day', 'today', 'spend limit in the currency of the prices, such as 5.00'),
  windowOf('week', 'this_week', 'the same per week, from Monday on'),
  windowOf('month', 'this_month', 'the same per month, such as 100.00'),
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

/** `limit` is the field and, in snake case, the column; `wire` the name in JSON and CSV. */
function rateOf<const What extends string, const Option extends string>(what: What, option: Option) {
  const [limit, wire] = [`${what}PerMinute`, `${what}_per_minute`] as const;
  return { limit, wire, option, flag: `--${option} <n>`, help: `${what} per minute` } as const;
}

/** `per` is also the number of the latest window with a charge, and `spent` what was charged in it; `now` says when. */
function windowOf<const Per extends string, const Now extends string>(per: Per, now: Now, help: string) {
  const option = `spendPer${capitalized(per)}` as const;
  const names = {
    limit: `${option}Micro`,
    wire: `spend_per_${per}`,
    option,
    flag: `--spend-per-${per} <amount>`,
  } as const;
  return { per, now, spent: `${per}SpentMicro`, ...names, help } as const;
}

function capitalized<Word extends string>(word: Word): Capitalize<Word> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}` as Capitalize<Word>;
}

/** Returns whether there is a limit of spending. */
export function limitsSpending(limits: SpendLimits): boolean {
  for (const { limit } of SPEND_WINDOWS) if (limits[limit] !== null) return true;
  return false;
}
