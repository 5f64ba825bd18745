import type { Database, RunResult, Statement } from 'better-sqlite3';
import { NAME } from '../sql/dialect.ts';

/** A statement whose `:names` are properties of the values that it is given. */
export interface Prepared<Values, Row> {
  run(values: Values): RunResult;
  get(values: Values): Row | undefined;
  all(values: Values): Row[];
}

/**
 * Returns such a statement. It is prepared when it first runs, since a process runs few of them, and to prepare all would be most of
 * opening a database. Values are bound by their positions: better-sqlite3 would look up each name, which takes a third of a small statement.
 */
export function prepareNamed<Values extends object, Row = unknown>(
  database: Database,
  { text }: { readonly text: string },
): Prepared<Values, Row> {
  const names: (keyof Values & string)[] = [];
  const byPosition = text.replaceAll(NAME, (_text, name: keyof Values & string) => {
    names.push(name);
    return '?';
  });
  let prepared: Statement<[readonly unknown[]], Row> | undefined;
  const statement = () => (prepared ??= database.prepare(byPosition));
  const positions = names.map((name, position) => ({ name, position }));
  // The statement takes them over before it runs, so that one list serves all its runs.
  const bound: unknown[] = names.map(() => null);
  function bind(values: Values): readonly unknown[] {
    for (const { name, position } of positions) bound[position] = values[name];
    return bound;
  }
  return {
    run: (values) => statement().run(bind(values)),
    get: (values) => statement().get(bind(values)),
    all: (values) => statement().all(bind(values)),
  };
}
