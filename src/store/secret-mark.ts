/** The secret that made the HMACs of a database, for either engine. */
import type { SharedDatabase } from './database-url.ts';
import * as sqlite from './sqlite/secret-mark.ts';

export interface Marking {
  /** An HMAC made with that secret; undefined until a gateway has started on the database. */
  readonly mark: string | undefined;
  /** The database has no key and no record, so any secret will do. */
  readonly isEmpty: boolean;
}

export interface MarkChange {
  /** The mark that `readMarking` returned. */
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * Reads the mark without changing anything, in a database of any version. Throws StoreOpenError.
 */
export async function readMarking(database: SharedDatabase): Promise<Marking> {
  if (database.kind === 'file') return sqlite.readMarking(database.path);
  const { readMarking } = await import('./postgres/secret-mark.ts');
  return readMarking(database.url);
}

/**
 * Replaces the mark, unless another process has changed it meanwhile, and returns the mark
 * afterwards. Runs missing migrations first; a file must exist. Throws StoreOpenError.
 */
export async function changeMark(database: SharedDatabase, change: MarkChange): Promise<string | undefined> {
  if (database.kind === 'file') return sqlite.changeMark(database.path, change);
  const { changeMark } = await import('./postgres/secret-mark.ts');
  return changeMark(database.url, change);
}
