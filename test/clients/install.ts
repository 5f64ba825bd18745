/** `npm ci` in this folder, unless what the lock file names is installed already. It is hundreds of megabytes. */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const LOCK_FILE = join(import.meta.dirname, 'package-lock.json');
const INSTALLED = join(import.meta.dirname, 'node_modules/.installed-package-lock.json');

const wanted = readFileSync(LOCK_FILE, 'utf8');
if (!existsSync(INSTALLED) || readFileSync(INSTALLED, 'utf8') !== wanted) {
  execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: import.meta.dirname,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  writeFileSync(INSTALLED, wanted);
}
