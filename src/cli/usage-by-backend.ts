/** What the prefix cache of each backend served. */

import { formatAmount } from '../core/money/decimal.ts';
import { cachedShareOf } from '../core/reply/usage.ts';
import type { InputOfBackend } from '../contract/types.ts';
import { fieldsNamed, type Field } from './export.ts';
import { formatCount } from './format.ts';
import type { Column } from './table.ts';

export interface BackendSum extends Omit<InputOfBackend, 'start' | 'model' | 'backend'> {
  readonly of: string;
}

/** Returns a sum for each backend, by name. */
export function sumByBackend(inputs: readonly InputOfBackend[]): readonly BackendSum[] {
  const sums = [...Map.groupBy(inputs, ({ backend }) => backend)].map(([of, own]): BackendSum => {
    const sum = (count: Exclude<keyof BackendSum, 'of' | 'cached_share'>): number =>
      own.reduce((total, each) => total + each[count], 0);
    return {
      of,
      input_tokens: sum('input_tokens'),
      cached_tokens: sum('cached_tokens'),
      cached_share: cachedShareOf(sum('cached_tokens'), sum('input_tokens')),
      reachable_tokens: sum('reachable_tokens'),
      moved_turns: sum('moved_turns'),
      saved: sum('saved'),
    };
  });
  return sums.sort((one, other) => (one.of < other.of ? -1 : 1));
}

export function withSaved<Row extends Pick<InputOfBackend, 'saved'>>(
  row: Row,
): Omit<Row, 'saved'> & { readonly saved: string } {
  return { ...row, saved: formatAmount(row.saved) };
}

export function countColumn<Name extends string>(title: string, count: Name): Column<Readonly<Record<Name, number>>> {
  return { title, of: (row) => formatCount(row[count]), align: 'right' };
}

export const SHARE_COLUMN: Column<Pick<InputOfBackend, 'cached_share'>> = {
  title: 'SHARE',
  of: ({ cached_share: share }) => `${Math.round(100 * share)}%`,
  align: 'right',
};

export const SAVED_COLUMN: Column<Pick<InputOfBackend, 'saved'>> = {
  title: 'SAVED',
  of: ({ saved }) => formatAmount(saved),
  align: 'right',
};

export const SAVED_FIELD: Field<Pick<InputOfBackend, 'saved'>> = {
  name: 'saved',
  of: ({ saved }) => formatAmount(saved),
};

export const BACKEND_COLUMNS: readonly Column<BackendSum>[] = [
  { title: 'BACKEND', of: ({ of }) => of },
  countColumn('INPUT', 'input_tokens'),
  countColumn('CACHED', 'cached_tokens'),
  SHARE_COLUMN,
  countColumn('REACHABLE', 'reachable_tokens'),
  countColumn('MOVED TURNS', 'moved_turns'),
  SAVED_COLUMN,
];

export const BACKEND_FIELDS: readonly Field<BackendSum>[] = [
  { name: 'backend', of: ({ of }) => of },
  ...fieldsNamed('input_tokens', 'cached_tokens', 'cached_share'),
  ...fieldsNamed('reachable_tokens', 'moved_turns'),
  SAVED_FIELD,
];
