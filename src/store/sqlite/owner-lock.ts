/**
 * Who owns an unfinished record, and whether that process still lives.
 *
 * Each process holds an exclusive lock on a small file beside the database for as long as it lives; for a worker
 * (`WORKERS`), which has no database of its own, the first process does. The operating system
 * drops the lock with the process, however it ends, so a start right after `kill -9` finds the owner dead at once. A
 * heartbeat would know it late, and would take a live process for dead which is paused or cannot write to a full disk; a
 * pid is used again, and means nothing across containers that share a volume. SQLite needs a file system with working
 * locks anyway. The lock is SQLite's own, on an empty database, because Node has no call for one.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import Sqlite, { type Database } from 'better-sqlite3';
import { createPrivateFile, isNodeError } from '../private-files.ts';
import { toFailureReason } from './failures.ts';

export interface OwnerLock {
  readonly owner: string;
  readonly release: () => void;
}

/** The owners of the records of one database. */
export interface Owners {
  /** A new one, which lives until it is released or the process ends. */
  take(): OwnerLock;
  /** Those of which anything is left beside their records, living or dead. */
  list(): readonly string[];
  isDead(owner: string): boolean;
}

export function ownersInFiles(databaseFile: string): Owners {
  return {
    take: () => takeOwnerLock(databaseFile),
    list: () => listOwners(databaseFile),
    isDead: (owner) => isOwnerDead(databaseFile, owner),
  };
}

/** Of a database in memory, which nobody outlives: whoever was not released lives. */
export function ownersInMemory(): Owners {
  const living = new Set<string>();
  return {
    take() {
      const owner = newOwner();
      living.add(owner);
      return { owner, release: () => void living.delete(owner) };
    },
    list: () => [],
    isDead: (owner) => !living.has(owner),
  };
}

const ATTEMPTS = 10;

/** Takes the lock of a new owner, named by chance, that is held until `release` or the end of the process. */
export function takeOwnerLock(databaseFile: string): OwnerLock {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const owner = newOwner();
    const file = toLockFile(databaseFile, owner);
    createPrivateFile(file);
    const held = lock(file);
    // Another process may have looked between the two lines above, found no lock, and taken the file away.
    if (held !== undefined && existsSync(file)) return { owner, release: () => release(held, file) };
    held?.close();
  }
  throw new Error(`the lock file of this process could not be held beside ${databaseFile}`);
}

/** True when the process of this owner is gone. In doubt it lives. Clears away the file of a dead one. */
export function isOwnerDead(databaseFile: string, owner: string): boolean {
  const file = toLockFile(databaseFile, owner);
  if (!existsSync(file)) return true;
  const held = lock(file);
  if (held === undefined) return false;
  release(held, file);
  return true;
}

/** The owners that have a lock file, living or dead. */
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

/** Undefined when another process holds the lock. */
function lock(file: string): Database | undefined {
  let database: Database | undefined;
  try {
    database = new Sqlite(file, { timeout: 0, fileMustExist: true });
    // No journal file beside the lock file, since nothing is ever written.
    database.pragma('journal_mode = MEMORY');
    database.exec('BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (toFailureReason(error) === undefined) throw error;
    return undefined;
  }
}

/** The file goes first: whoever gets the lock afterwards sees that it is gone. */
function release(held: Database, file: string): void {
  try {
    rmSync(file, { force: true });
  } catch (error) {
    // Windows deletes no open file. It stays for the next process that looks for the dead.
    if (!isNodeError(error, 'EPERM') && !isNodeError(error, 'EBUSY')) throw error;
  }
  held.close();
}
