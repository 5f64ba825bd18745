import { existsSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { MarkChange, Marking } from '../marking.ts';
import { NAMES_OF_PREVIOUS } from '../rows/keys.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { messageOf } from '../../core/errors.ts';
import { openDatabase } from './database.ts';
import { toFailureReason } from './failures.ts';
import { withSnapshot } from './snapshot.ts';

const WITHIN_MS = 5000;

export function prepareFindMark(database: Database): () => string | undefined {
  const find = database.prepare<[], string>('SELECT mark FROM secret_mark').pluck();
  return () => find.get();
}

export async function readMarking(file: string): Promise<Marking> {
  if (!existsSync(file)) return { mark: undefined, isEmpty: true, keysOfPrevious: [] };
  return withSnapshot(file, (database) => ({
    mark: hasTable(database, 'secret_mark') ? prepareFindMark(database)() : undefined,
    isEmpty: !hasRows(database, 'keys') && !hasRows(database, 'requests'),
    keysOfPrevious: hasKeyMarks(database) ? database.prepare<[], string>(NAMES_OF_PREVIOUS).pluck().all() : [],
  }));
}

export function changeMark(file: string, { from, to, givesUp = false }: MarkChange): string | undefined {
  const database = openDatabase({ file, openWithinMs: WITHIN_MS });
  try {
    // A busy gateway lets other processes write between two of its batches.
    database.pragma(`busy_timeout = ${WITHIN_MS}`);
    const findMark = prepareFindMark(database);
    const change = database.transaction(() => {
      database
        .prepare<[string, string | null]>(
          `INSERT INTO secret_mark (id, mark) VALUES (1, ?)
           ON CONFLICT (id) DO UPDATE SET mark = excluded.mark WHERE secret_mark.mark = ?`,
        )
        .run(to, from ?? null);
      const mark = findMark();
      // Until now all keys whose mark is not known were known by the former secret.
      if (mark === to && givesUp) database.exec('UPDATE keys SET mark = NULL');
      else if (mark === to && from !== undefined)
        database.prepare('UPDATE keys SET mark = ? WHERE mark IS NULL').run(from);
      return mark;
    });
    return change.immediate();
  } catch (error) {
    if (toFailureReason(error) === undefined) throw error;
    throw new StoreOpenError(`The database ${file} cannot be marked: ${messageOf(error)}.`, { cause: error });
  } finally {
    database.close();
  }
}

function hasRows(database: Database, table: 'keys' | 'requests'): boolean {
  return hasTable(database, table) && database.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get() !== undefined;
}

function hasKeyMarks(database: Database): boolean {
  const find = database.prepare("SELECT 1 FROM pragma_table_info('keys') WHERE name = 'mark'");
  return hasTable(database, 'secret_mark') && find.get() !== undefined;
}

function hasTable(database: Database, name: string): boolean {
  return database.prepare('SELECT 1 FROM sqlite_schema WHERE name = ?').get(name) !== undefined;
}
