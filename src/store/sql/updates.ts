import type { Changes } from '../rows/keys.ts';
import type { NamedStatement } from './dialect.ts';

interface Update {
  readonly statement: NamedStatement;
  readonly value: string | number | null;
}

/** Returns a function that returns the statements of a change: one for each column of the table that it sets. */
export function updatesOf<Change>(
  table: string,
  id: string,
  columns: Changes<Change>,
): (change: Change) => readonly Update[] {
  const statements = Object.entries(columns).map(([column, valueOf]) => ({
    valueOf,
    statement: {
      name: `update_${table}_${column}`,
      text: `UPDATE ${table} SET ${column} = :value WHERE ${id} = :id`,
    },
  }));
  return (change) =>
    statements.flatMap(({ valueOf, statement }) => {
      const value = valueOf(change);
      return value === undefined ? [] : [{ statement, value }];
    });
}
