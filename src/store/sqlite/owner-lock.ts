/**
 * Each process holds an exclusive lock on a small file next to the database; the first process also
 * holds those of its workers. The operating system releases it when the process ends for any
 * reason, even `kill -9`. A heartbeat would take a paused process for dead, and a pid has no
 * meaning across containers that share a volume. SQLite takes the lock, because Node has no call
 * for one.
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

export interface Owners {
  take(): OwnerLock;
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

/** Returns the owners of a database in memory. */
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

/** Takes the lock of a new owner until `release`, or until the process ends. */
export function takeOwnerLock(databaseFile: string): OwnerLock {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const owner = newOwner();
    const file = toLockFile(databaseFile, owner);
    createPrivateFile(file);
    const held = lock(file);
    // Between the two lines above another process may have found no lock and removed the file.
    if (held !== undefined && existsSync(file)) return { owner, release: () => release(held, file) };
    held?.close();
  }
  throw new Error(`this process cannot hold its lock file next to ${databaseFile}`);
}

/** True when the process has ended; false in doubt. Removes the lock file of a dead owner. */
export function isOwnerDead(databaseFile: string, owner: string): boolean {
  const file = toLockFile(databaseFile, owner);
  if (!existsSync(file)) return true;
  const held = lock(file);
  if (held === undefined) return false;
  release(held, file);
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

/** Removes the file first, so that the next holder of the lock sees that it is gone. */
function release(held: Database, file: string): void {
  try {
    rmSync(file, { force: true });
  } catch (error) {
    // Windows deletes no open file. A later call of `isOwnerDead` removes it.
    if (!isNodeError(error, 'EPERM') && !isNodeError(error, 'EBUSY')) throw error;
  }
  held.close();
}
