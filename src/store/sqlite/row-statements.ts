import type { Database, RunResult } from 'better-sqlite3';

/** Writes a row. The `:names` in its SQL are the properties of the row. */
export interface RowStatement<Row> {
  run(row: Row): RunResult;
}

/**
 * Returns what prepares such statements. Values are bound by their places: better-sqlite3 would look
 * up each name in the row, which takes a third of a small statement.
 */
export function rowStatements(database: Database): <Row extends object>(sql: string) => RowStatement<Row> {
  return <Row extends object>(sql: string): RowStatement<Row> => {
    const names: (keyof Row & string)[] = [];
    const byPlace = sql.replaceAll(/:(\w+)/g, (_text, name: keyof Row & string) => {
      names.push(name);
      return '?';
    });
    const statement = database.prepare<[readonly unknown[]]>(byPlace);
    return { run: (row) => statement.run(names.map((name) => row[name])) };
  };
}
