import type { SharedDatabase } from './database-url.ts';
import type { MarkChange, Marking } from './marking.ts';
import * as sqlite from './sqlite/secret-mark.ts';

/** Reads the mark in a database of any version, without migrations. Throws StoreOpenError. */
export async function readMarking(database: SharedDatabase): Promise<Marking> {
  if (database.kind === 'file') return sqlite.readMarking(database.path);
  const { readMarking } = await import('./postgres/secret-mark.ts');
  return readMarking(database.url);
}

/**
 * Replaces the mark, unless another process has changed it, and returns the mark afterwards. Runs
 * missing migrations first. Throws StoreOpenError.
 */
export async function changeMark(database: SharedDatabase, change: MarkChange): Promise<string | undefined> {
  if (database.kind === 'file') return sqlite.changeMark(database.path, change);
  const { changeMark } = await import('./postgres/secret-mark.ts');
  return changeMark(database.url, change);
}
