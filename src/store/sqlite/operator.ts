import type { Database } from 'better-sqlite3';
import { prepareNamed } from './named.ts';
import { RECORDS } from './statements.ts';

export function prepareOperator(database: Database) {
  const select = prepareNamed<{ prefix: string; limit: number }, { caller: string }>(database, RECORDS.findCallers);
  return {
    findCallers: (prefix: string, limit: number): readonly string[] =>
      select.all({ prefix, limit }).map(({ caller }) => caller),
  };
}
