/** A disk of a few megabytes in memory, to be filled to its last byte. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly folder: string;
  /** Takes all that is free. */
  fill(): void;
  /** Gives back what `fill` took. */
  free(): void;
  close(): void;
}

/**
 * Lets this process write no further into its files than to this byte: the disk fails what it writes there. Returns false, after
 * a line that says so, where there is no such command.
 */
export function limitFiles(bytes: number | 'unlimited'): boolean {
  try {
    execFileSync('prlimit', [`--pid=${process.pid}`, `--fsize=${bytes}:`]);
    return true;
  } catch {
    if (process.env['CI'] !== undefined) throw new Error('no limit can be set (prlimit of util-linux)');
    console.log('  not run, since no limit can be set (prlimit of util-linux): disks that fail');
    return false;
  }
}

/** Makes one; undefined, after a line that says so, where this user may not. */
export function makeSmallDisk(megabytes: number): SmallDisk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'small-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=777`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    rmSync(folder, { recursive: true });
    if (process.env['CI'] !== undefined) throw new Error('no file system can be mounted (mount -t tmpfs, as root)');
    console.log('  not run, since no file system can be mounted (mount -t tmpfs, as root): full disks');
    return undefined;
  }
  const filler = join(folder, 'filler');
  return {
    folder,
    fill() {
      const file = openSync(filler, 'a');
      for (const size of [1024 * 1024, 4096, 1]) {
        try {
          for (;;) writeSync(file, Buffer.alloc(size));
        } catch {
          // This size has no room left.
        }
      }
      closeSync(file);
    },
    free: () => rmSync(filler, { force: true }),
    close() {
      // A server that has just ended may still have files there.
      execFileSync('umount', ['-l', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
