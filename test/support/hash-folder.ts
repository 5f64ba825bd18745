import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Of the names, modes, times and contents of all that is in a folder. */
export function hashFolder(folder: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()) {
    const path = join(folder, name);
    const stat = lstatSync(path);
    hash.update(`${name} ${stat.mode} ${stat.mtimeMs}\n`);
    if (stat.isFile()) hash.update(readFileSync(path));
  }
  return hash.digest('hex');
}
