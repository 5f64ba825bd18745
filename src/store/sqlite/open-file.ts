import { existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { createPrivateFile, makePrivateFolder } from '../private-files.ts';
import { StoreOpenError } from '../store.ts';
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
 * How often the files are looked at. A look takes some 60 µs, as much as a small commit, and Linux keeps exact times of a file
 * that was looked at: the next sync of the log writes these as well.
 */
const LOOK_MS = 100;

/**
 * Returns a function that throws MovedFile when the database at `file` is no longer the one that
 * was opened. SQLite itself goes on with a deleted file, whose records end with the process.
 */
export function watchFile(file: string, opened: FileId, steadyMs = () => performance.now()): () => void {
  const log = `${file}-wal`;
  let openedLog: FileId | undefined;
  let lookedAtMs = -Infinity;
  return () => {
    const nowMs = steadyMs();
    if (openedLog !== undefined && nowMs < lookedAtMs + LOOK_MS) return;
    refuseOtherFile(file, opened);
    const foundLog = identifyFile(log);
    openedLog ??= foundLog;
    if (foundLog !== openedLog) throw new MovedFile(log);
    lookedAtMs = nowMs;
  };
}
