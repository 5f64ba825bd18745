import { DAY_MS } from '../core/time.ts';
import { parseUtc } from '../wire/query.ts';
import { InvalidArgumentError } from 'commander';
import { parseAmount, parseSignedAmount } from '../core/money/decimal.ts';

const UNITS_MS = { s: 1000, m: 60_000, h: 3_600_000, d: DAY_MS, w: 7 * DAY_MS } as const;

export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (number >= least && number <= most) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/** Commander takes null for a missing value. */
export const NOTHING = Symbol('nothing');
export type OrNothing<Value> = Value | typeof NOTHING;

/** Returns a parser that reads this word as NOTHING, and all else as `parse` does. */
export function orWord<Value>(word: string, parse: (text: string) => Value): (text: string) => OrNothing<Value> {
  return (text) => (text === word ? NOTHING : parse(text));
}

export function orNull<Value>(value: OrNothing<Value>): Value | null {
  return value === NOTHING ? null : value;
}

/** Returns a parser for `30d`, `24h`, `90m`, `45s` or `2w`; gives milliseconds up to `mostMs`. */
export function parseDuration(mostMs: number): (text: string) => number {
  return (text) => {
    const ms = readDuration(text);
    if (ms !== undefined && ms <= mostMs) return ms;
    throw new InvalidArgumentError(
      `It must be a duration such as 45s, 90m, 24h, 30d or 2w, up to ${describeDuration(mostMs)}.`,
    );
  };
}

function describeDuration(ms: number): string {
  if (ms > UNITS_MS.d) return `${ms / UNITS_MS.d} days`;
  return ms > UNITS_MS.h ? `${ms / UNITS_MS.h} hours` : `${ms / UNITS_MS.m} minutes`;
}

function readDuration(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,9})([smhdw])$/.exec(text) ?? [];
  return digits !== undefined && isUnit(unit) ? Number(digits) * UNITS_MS[unit] : undefined;
}

function isUnit(text: string): text is keyof typeof UNITS_MS {
  return Object.hasOwn(UNITS_MS, text);
}

const HOW_MOMENT = 'a UTC time such as 2027-01-31 or 2027-01-31T12:00Z';

/** Parses `2027-01-31` or `2027-01-31T12:00Z` in UTC; gives Unix time in milliseconds. */
export function parseMoment(text: string): number {
  const atMs = parseUtc(text);
  if (atMs !== undefined) return atMs;
  throw new InvalidArgumentError(`It must be ${HOW_MOMENT}.`);
}

/** Returns a parser for a moment, or a duration from now; gives Unix time in seconds. */
export function parseExpiry(nowMs: () => number): (text: string) => number {
  return (text) => {
    const spanMs = readDuration(text);
    const atMs = spanMs === undefined ? parseUtc(text) : nowMs() + spanMs;
    if (atMs !== undefined && atMs < Date.UTC(10_000, 0)) return Math.floor(atMs / 1000);
    throw new InvalidArgumentError(`It must be a duration such as 24h or 30d, or ${HOW_MOMENT}.`);
  };
}

/** Parses an amount such as `10.00`, which stays a text: money is never a number here. */
export function parseAmountText(text: string): string {
  if (parseAmount(text) !== undefined) return text;
  throw new InvalidArgumentError('It must be an amount such as 10.00, with at most six decimals.');
}

export function parseSignedAmountText(text: string): string {
  if (parseSignedAmount(text) !== undefined) return text;
  throw new InvalidArgumentError('It must be an amount such as 10.00 or -2.50, with at most six decimals.');
}

export function parseList(text: string): string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
