import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { createPrivateFile, makePrivateFolder } from '../private-files.ts';
import { StoreOpenError } from '../../core/books/store.ts';
import { isOwnerDead, listOwners } from './owner-lock.ts';

/** The file of a path, whatever its name becomes: two paths with one value are one file. */
export type FileId = string;

/** The path of an open database has another file now, or none. Nothing was read or written. */
export class MovedFile extends Error {
  override readonly name = 'MovedFile';

  constructor(file: string) {
    super(`${file} was deleted or replaced while it was in use; put the same file back, or restart`);
  }
}

/** Returns undefined when there is no such file, or it cannot be looked at. */
export function identifyFile(path: string): FileId | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

/**
 * Creates the file of a database if it is missing. Throws StoreOpenError if a living process still
 * has the former one open, because each process would then have records of its own.
 */
export function createDatabaseFile(file: string): void {
  makePrivateFolder(dirname(file));
  const isInUse = listOwners(file).some((owner) => !isOwnerDead(file, owner));
  // A process that starts now creates the file before its lock.
  if (isInUse && !existsSync(file)) {
    throw new StoreOpenError(
      `The database ${file} was deleted while another process uses it; stop that process first.`,
    );
  }
  createPrivateFile(file);
}

/** Throws MovedFile unless the path leads to this file. */
export function refuseOtherFile(file: string, opened: FileId): void {
  if (identifyFile(file) !== opened) throw new MovedFile(file);
}

/**
 * Linux keeps exact times of a file that was looked at, so the next sync of the log writes these as
 * well and takes half as much CPU again. Between two such looks only its name is looked up.
 */
const LOOK_AT_LOG_MS = 100;

/**
 * Returns a function that throws MovedFile when the database at `file` is no longer the one that
 * was opened. SQLite itself goes on with a deleted file, whose records end with the process.
 */
export function watchFile(file: string, opened: FileId, steadyMs = () => performance.now()): () => void {
  const log = `${file}-wal`;
  let openedLog: FileId | undefined;
  let lookedAtMs = -Infinity;
  return () => {
    refuseOtherFile(file, opened);
    if (openedLog !== undefined && steadyMs() < lookedAtMs + LOOK_AT_LOG_MS) {
      if (existsSync(log)) return;
      throw new MovedFile(log);
    }
    const foundLog = identifyFile(log);
    openedLog ??= foundLog;
    if (foundLog !== openedLog) throw new MovedFile(log);
    lookedAtMs = steadyMs();
  };
}
