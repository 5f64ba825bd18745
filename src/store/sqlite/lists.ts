import type { Database, Statement } from 'better-sqlite3';
import { toListedRows, toListQueries, type ListedRows, type ListQuery, type ListStep } from '../rows/list-query.ts';
import type { IdempotencyKeyRow, RecordRow } from '../rows/records.ts';
import { prepareNamed } from './named.ts';
import { RECORDS } from './statements.ts';

type Values = Readonly<Record<string, unknown>>;

export function prepareLists(database: Database) {
  /** There are some dozen combinations of filters, of which most databases see a few. */
  const prepared = new Map<string, Statement<[Values], RecordRow>>();

  function all({ name, text, values }: ListQuery): readonly RecordRow[] {
    const statement = prepared.get(name) ?? database.prepare<[Values], RecordRow>(text);
    prepared.set(name, statement);
    return statement.all(Object.fromEntries(values.map((value, index) => [String(index + 1), value])));
  }

  function list(step: ListStep): ListedRows {
    const { rows, floor } = toListQueries(step);
    const found = all(rows);
    const [last] = found.length < step.limit && floor !== null ? all(floor) : [];
    return toListedRows(found, step.limit, last?.requestId ?? null);
  }

  const selectByKey = prepareNamed<IdempotencyKeyRow, RecordRow>(database, RECORDS.findByIdempotencyKey);

  function findByIdempotencyKey(candidates: readonly IdempotencyKeyRow[]): RecordRow | null {
    const found = candidates.flatMap((candidate) => selectByKey.get(candidate) ?? []);
    return found.sort((one, other) => other.seq - one.seq)[0] ?? null;
  }

  return { list, findByIdempotencyKey };
}
