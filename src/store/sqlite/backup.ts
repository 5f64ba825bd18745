import { randomBytes } from 'node:crypto';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { createPrivateFile, makePrivateFolder } from '../private-files.ts';
import { StoreOpenError } from '../store.ts';
import { withSnapshot } from './snapshot.ts';

/** How many pages are copied before anything else may happen: some milliseconds. */
const STEP_PAGES = 500;

/**
 * Copies the database into a new file, readable for its owner alone, and checks the copy. `onProgress` gets the part that
 * is done, from 0 to 1. The copy is of the moment at which it begins: without the snapshot that is held meanwhile, SQLite
 * would begin anew at each write of another process, and beside a busy gateway it would never end. It gets its name when it
 * is whole, so that what is left of a process that died is not taken for a backup. Throws StoreOpenError when there is a
 * file of this name or the copy cannot be made.
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
      checkCopy(draft);
      renameSync(draft, destination);
    } finally {
      rmSync(draft, { force: true });
    }
  });
}

function checkCopy(copyFile: string): void {
  const copy = new Sqlite(copyFile, { fileMustExist: true });
  try {
    // One file, which needs no others beside it; the gateway begins a write-ahead file when it opens the copy.
    copy.pragma('journal_mode = DELETE');
    const found: unknown = copy.pragma('integrity_check(1)', { simple: true });
    if (found !== 'ok') throw new StoreOpenError('The copy is not sound, so it was deleted; db check may say why.');
  } finally {
    copy.close();
  }
}
