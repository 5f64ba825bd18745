import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeStore } from '../conformance.ts';

describeStore('in memory', { makeDatabase: () => ':memory:', isShared: false });

const folders: string[] = [];

describeStore('in a file', { makeDatabase: makeFile, isShared: true });

function makeFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  folders.push(folder);
  return `file:${folder}/gateway.db`;
}

after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
