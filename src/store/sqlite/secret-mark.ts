import { existsSync } from 'node:fs';
import type { MarkChange, Marking } from '../marking.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { messageOf } from '../../core/errors.ts';
import { SQLITE } from '../sql/dialect.ts';
import * as steps from '../sql/secret-mark.ts';
import { openDatabase } from './database.ts';
import { toFailureReason } from './failures.ts';
import { withSnapshot } from './snapshot.ts';
import { prepareSteps } from './steps.ts';

const WITHIN_MS = 5000;

export async function readMarking(file: string): Promise<Marking> {
  if (!existsSync(file)) return { mark: undefined, isEmpty: true, keysOfPrevious: [] };
  return withSnapshot(file, (database) => prepareSteps(database)(steps.readMarking(SQLITE)));
}

export function changeMark(file: string, change: MarkChange): string | undefined {
  const database = openDatabase({ file, openWithinMs: WITHIN_MS });
  try {
    // A busy gateway lets other processes write between two of its batches.
    database.pragma(`busy_timeout = ${WITHIN_MS}`);
    return database.transaction(() => prepareSteps(database)(steps.changeMark(change))).immediate();
  } catch (error) {
    if (toFailureReason(error) === undefined) throw error;
    throw new StoreOpenError(`The database ${file} cannot be marked: ${messageOf(error)}.`, { cause: error });
  } finally {
    database.close();
  }
}
