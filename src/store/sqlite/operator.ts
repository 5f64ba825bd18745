import type { Database } from 'better-sqlite3';
import { SQLITE } from '../sql/dialect.ts';
import { recordStatements } from '../sql/records.ts';
import { prepareNamed } from './named.ts';

export function prepareOperator(database: Database) {
  const select = prepareNamed<{ prefix: string; limit: number }, { caller: string }>(
    database,
    recordStatements(SQLITE).findCallers,
  );
  return {
    findCallers: (prefix: string, limit: number): readonly string[] =>
      select.all({ prefix, limit }).map(({ caller }) => caller),
  };
}
