/**
 * Each process holds an exclusive lock on a small file next to the database; the first process also
 * holds those of its workers. The operating system releases it when the process ends for any
 * reason, even `kill -9`. A heartbeat would take a paused process for dead, and a pid has no
 * meaning across containers that share a volume. SQLite takes the lock, because Node has no call
 * for one.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { createPrivateFile, isNodeError } from '../private-files.ts';
import { toFailureReason } from './failures.ts';

export interface OwnerLock {
  readonly owner: string;
  /** Leaves the lock file, by which the next recovery knows that the owner is dead. */
  readonly release: () => void;
}

export interface Owners {
  take(): OwnerLock;
  /** Makes the lock files of this process again that somebody has deleted. */
  keep(): void;
  /** Removes the lock file of an owner that has nothing unfinished any more. */
  forget(owner: string): void;
  list(): readonly string[];
  isDead(owner: string): boolean;
}

/**
 * A living owner makes its lock file again well within this time, so one that is missing for longer
 * was removed with the last record of its owner, or with the owner dead.
 */
const MISSING_FOR_MS = 10_000;

/** Returns the owners of a database in a file. Each owner is held by the process that took it. */
export function ownersInFiles(databaseFile: string): Owners {
  const taken = new Map<string, HeldLock>();
  const missingSinceMs = new Map<string, number>();

  return {
    take() {
      const lock = takeOwnerLock(databaseFile);
      taken.set(lock.owner, lock);
      return {
        owner: lock.owner,
        release() {
          taken.delete(lock.owner);
          lock.release();
        },
      };
    },
    keep() {
      // The folder may be gone with the database, which the store says by itself.
      if (existsSync(dirname(databaseFile))) for (const lock of taken.values()) lock.keep();
    },
    forget: (owner) => removeLockFile(toLockFile(databaseFile, owner)),
    list: () => listOwners(databaseFile),
    isDead(owner) {
      if (existsSync(toLockFile(databaseFile, owner))) {
        missingSinceMs.delete(owner);
        return isOwnerDead(databaseFile, owner);
      }
      const nowMs = performance.now();
      const sinceMs = missingSinceMs.get(owner) ?? nowMs;
      missingSinceMs.set(owner, sinceMs);
      if (nowMs - sinceMs < MISSING_FOR_MS) return false;
      missingSinceMs.delete(owner);
      return true;
    },
  };
}

export function ownersInMemory(): Owners {
  const living = new Set<string>();
  return {
    take() {
      const owner = newOwner();
      living.add(owner);
      return { owner, release: () => void living.delete(owner) };
    },
    keep: () => undefined,
    forget: () => undefined,
    list: () => [],
    isDead: (owner) => !living.has(owner),
  };
}

export interface HeldLock extends OwnerLock {
  readonly keep: () => void;
}

const ATTEMPTS = 10;

/** Takes the lock of a new owner until `release`, or until the process ends. */
export function takeOwnerLock(databaseFile: string): HeldLock {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const owner = newOwner();
    const file = toLockFile(databaseFile, owner);
    createPrivateFile(file);
    const held = lock(file);
    // Between the two lines above another process may have found no lock and removed the file.
    if (held !== undefined && existsSync(file)) return toHeldLock(owner, file, held);
    held?.close();
  }
  throw new Error(`this process cannot hold its lock file next to ${databaseFile}`);
}

function toHeldLock(owner: string, file: string, first: Database): HeldLock {
  let held = first;
  return {
    owner,
    release: () => void held.close(),
    keep() {
      if (existsSync(file)) return;
      // It gets its name when it is locked, so that nobody finds it without a holder.
      const draft = `${file}.new`;
      createPrivateFile(draft);
      const again = lock(draft);
      if (again === undefined) return;
      renameSync(draft, file);
      held.close();
      held = again;
    },
  };
}

/** True when the lock file is there and nobody holds it; false in doubt. */
export function isOwnerDead(databaseFile: string, owner: string): boolean {
  const file = toLockFile(databaseFile, owner);
  if (!existsSync(file)) return false;
  const held = lock(file);
  if (held === undefined) return false;
  held.close();
  return true;
}

/** Returns the owners that have a lock file, alive or dead. */
export function listOwners(databaseFile: string): readonly string[] {
  const prefix = basename(toLockFile(databaseFile, ''));
  return readdirSync(dirname(databaseFile))
    .filter((name) => name.startsWith(prefix) && /^[0-9a-f]+$/.test(name.slice(prefix.length)))
    .map((name) => name.slice(prefix.length));
}

function newOwner(): string {
  return randomBytes(8).toString('hex');
}

function toLockFile(databaseFile: string, owner: string): string {
  return `${databaseFile}-owner-${owner}`;
}

function lock(file: string): Database | undefined {
  let database: Database | undefined;
  try {
    database = new Sqlite(file, { timeout: 0, fileMustExist: true });
    // Nothing is written, so the lock file needs no journal file.
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (toFailureReason(error) === undefined) throw error;
    return undefined;
  }
}

function removeLockFile(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch (error) {
    // Windows deletes no open file. A later recovery removes it.
    if (!isNodeError(error, 'EPERM') && !isNodeError(error, 'EBUSY')) throw error;
  }
}
