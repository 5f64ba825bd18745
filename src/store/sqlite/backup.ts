import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { createPrivateFile, makePrivateFolder } from '../private-files.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { withSnapshot } from './snapshot.ts';

const STEP_PAGES = 500;

/**
 * Copies the database into a new private file, and checks the copy. `onProgress` gets the copied
 * part, from 0 to 1. Without the snapshot SQLite would start again after each write of another
 * process. The file gets its name at the end, so that a broken copy is not taken for a backup.
 * Throws StoreOpenError when the file exists or cannot be written.
 */
export async function backupDatabase(
  file: string,
  destination: string,
  onProgress: (part: number) => void,
): Promise<void> {
  await withSnapshot(file, async (database) => {
    if (existsSync(destination)) throw new StoreOpenError(`The file ${destination} exists already.`);
    makePrivateFolder(dirname(destination));
    const draft = `${destination}.${randomBytes(8).toString('hex')}.tmp`;
    createPrivateFile(draft);
    try {
      await database.backup(draft, {
        progress({ totalPages, remainingPages }) {
          if (totalPages > 0) onProgress(1 - remainingPages / totalPages);
          return STEP_PAGES;
        },
      });
      onProgress(1);
      checkCopy(draft);
      renameSync(draft, destination);
    } catch (error) {
      if (!(error instanceof Sqlite.SqliteError) || error.code !== 'SQLITE_FULL') throw error;
      throw new StoreOpenError(`The file ${destination} cannot be written: ${error.message}.`, { cause: error });
    } finally {
      rmSync(draft, { force: true });
    }
  });
}

function checkCopy(copyFile: string): void {
  const copy = new Sqlite(copyFile, { fileMustExist: true });
  try {
    // The copy is a single file, without a write-ahead file.
    copy.pragma('journal_mode = DELETE');
    const found: unknown = copy.pragma('integrity_check(1)', { simple: true });
    if (found !== 'ok') throw new StoreOpenError('The copy is not sound, so it was deleted; db check may say why.');
  } finally {
    copy.close();
  }
}
