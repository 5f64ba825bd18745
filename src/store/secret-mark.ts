/** By which secret the keys and records of a database are known, whatever its engine. */
import type { SharedDatabase } from './database-url.ts';
import * as sqlite from './sqlite/secret-mark.ts';

export interface Marking {
  /** An HMAC made with that secret; undefined as long as no gateway has started on the database. */
  readonly mark: string | undefined;
  /** It has no key and no record yet, so that no secret could be missing. */
  readonly isEmpty: boolean;
}

export interface MarkChange {
  /** What the database was marked with when it was looked at. */
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * Reads the mark, also of a database of another version, and changes nothing. Throws
 * StoreOpenError.
 */
export async function readMarking(database: SharedDatabase): Promise<Marking> {
  if (database.kind === 'file') return sqlite.readMarking(database.path);
  const { readMarking } = await import('./postgres/secret-mark.ts');
  return readMarking(database.url);
}

/**
 * Marks the database anew, unless another process has done so meanwhile, and returns the mark that
 * it has then. Brings it up to this program before; a file must be there. Throws StoreOpenError.
 */
export async function changeMark(database: SharedDatabase, change: MarkChange): Promise<string | undefined> {
  if (database.kind === 'file') return sqlite.changeMark(database.path, change);
  const { changeMark } = await import('./postgres/secret-mark.ts');
  return changeMark(database.url, change);
}
