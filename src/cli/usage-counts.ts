import { formatAmount } from '../core/money/decimal.ts';
import { recordOf } from '../core/map-values.ts';
import { cachedShareOf } from '../core/reply/usage.ts';
import type { Field } from './export.ts';
import { formatCount } from './format.ts';
import type { Column } from './table.ts';

const TITLES = {
  requests: 'REQUESTS',
  failed: 'FAILED',
  cancelled: 'CANCELLED',
  input_tokens: 'INPUT',
  cached_tokens: 'CACHED',
  cached_share: 'SHARE',
  cache_write_tokens: 'WRITTEN',
  output_tokens: 'OUTPUT',
  reachable_tokens: 'REACHABLE',
  moved_turns: 'MOVED TURNS',
  cost: 'COST',
  saved: 'SAVED',
} as const;

type Counts<Name extends string> = Readonly<Record<Name, number>>;

export function countColumns<Name extends keyof typeof TITLES>(...names: Name[]): readonly Column<Counts<Name>>[] {
  return names.map((name) => ({ title: TITLES[name], of: (row) => toText(name, row[name]), align: 'right' }));
}

function toText(name: string, count: number): string {
  if (isMoney(name)) return formatAmount(count);
  return name === 'cached_share' ? `${Math.round(100 * count)}%` : formatCount(count);
}

export function countFields<Name extends string>(names: readonly Name[]): readonly Field<Counts<Name>>[] {
  return names.map((name) => ({ name, of: (row) => (isMoney(name) ? formatAmount(row[name]) : row[name]) }));
}

export function withAmounts(row: object): object {
  const entries = Object.entries<unknown>({ ...row });
  return Object.fromEntries(
    entries.map(([name, value]) => [name, isMoney(name) ? formatAmount(Number(value)) : value]),
  );
}

/** Money is a decimal number in every output. */
function isMoney(name: string): boolean {
  return name === 'cost' || name === 'saved';
}

/** Returns the sum of each of these counts, and of all the share that was cached. */
export function sumOf<Name extends string>(
  names: readonly Name[],
  rows: readonly Counts<Name | 'cached_tokens' | 'input_tokens'>[],
): Counts<Name> {
  const sum = (name: Name | 'cached_tokens' | 'input_tokens'): number =>
    rows.reduce((total, row) => total + row[name], 0);
  return recordOf(names, (name) => [
    name,
    name === 'cached_share' ? cachedShareOf(sum('cached_tokens'), sum('input_tokens')) : sum(name),
  ]);
}
