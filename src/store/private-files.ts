import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const ONLY_OWNER = 0o600;

/** Creates a folder and its missing parents. Existing folders keep their mode. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** Creates an empty file. Returns false when the file exists. */
export function createPrivateFile(path: string): boolean {
  try {
    closeSync(openNew(path));
  } catch (error) {
    if (isNodeError(error, 'EEXIST')) return false;
    throw error;
  }
  syncFolder(dirname(path));
  return true;
}

/** Creates a file, whole or not at all, even after a power loss. Returns false when it exists. */
export function writePrivateFile(path: string, content: string): boolean {
  const draft = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  const descriptor = openNew(draft);
  try {
    writeFileSync(descriptor, content);
    fsyncSync(descriptor);
    // Unlike a rename, a link fails when the name exists, so one of several processes wins.
    linkSync(draft, path);
  } catch (error) {
    if (isNodeError(error, 'EEXIST')) return false;
    throw error;
  } finally {
    closeSync(descriptor);
    rmSync(draft, { force: true });
  }
  syncFolder(dirname(path));
  return true;
}

/** True for an error of the operating system with this code, such as `ENOENT`. */
export function isNodeError(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function openNew(path: string): number {
  return openSync(path, 'wx', ONLY_OWNER);
}

/** A new name is durable once its folder is synced. Windows has no such call and needs none. */
function syncFolder(path: string): void {
  if (process.platform === 'win32') return;
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
