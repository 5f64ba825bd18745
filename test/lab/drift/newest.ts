/** `npm run lab drift`: names that the newest published packages of clients have, and no table here. */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { missingOf, PACKAGES } from './vocabulary.ts';

const folder = mkdtempSync(join(tmpdir(), 'drift-'));
try {
  const newest = Object.keys(PACKAGES).map((name) => `${name}@latest`);
  execFileSync(
    'npm',
    ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', ...newest],
    { stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' },
  );
  for (const [name, read] of Object.entries(PACKAGES)) {
    const path = join(folder, 'node_modules', name);
    const { version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { version: string };
    const missing = Object.entries(missingOf(read(path))).filter(([, names]) => names.length > 0);
    if (missing.length > 0) process.exitCode = 1;
    console.log(`${name} ${version}: ${missing.length === 0 ? 'nothing is missing' : ''}`);
    for (const [kind, names] of missing) console.log(`  ${kind}: ${names.join(', ')}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
