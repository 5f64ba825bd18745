/** Returns an object with the same keys, and with what `map` returns for each value and its key. */
export function mapValues<Name extends string, From, To>(
  values: Readonly<Record<Name, From>>,
  map: (value: From, name: string) => To,
): Readonly<Record<Name, To>> {
  const entries = Object.entries<From>(values).map(([name, value]) => [name, map(value, name)] as const);
  // The keys are those of `values`.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return Object.fromEntries(entries) as Readonly<Record<Name, To>>;
}

/** Returns an object with the entry that `toEntry` makes of each row of a table. */
export function recordOf<Row, Name extends string, Value>(
  rows: readonly Row[],
  toEntry: (row: Row) => readonly [Name, Value],
): Readonly<Record<Name, Value>> {
  // Each name of the type comes from one of the rows.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const record = {} as Record<Name, Value>;
  for (const row of rows) {
    const [name, value] = toEntry(row);
    record[name] = value;
  }
  return record;
}
