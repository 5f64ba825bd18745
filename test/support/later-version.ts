import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Migration } from '../../src/store/engine/migrations.ts';

const ROOT = join(import.meta.dirname, '../..');
const ENGINES = ['sqlite', 'postgres'] as const;

/** The program as it may be one day: this source tree, with these steps behind those that both engines have. */
export interface LaterVersion {
  /** What to start it with. */
  readonly main: string;
  remove(): void;
}

/** Makes it in a folder of its own. The steps must be of SQL that both engines know. */
export function makeLaterVersion(steps: readonly Migration[]): LaterVersion {
  const folder = mkdtempSync(join(tmpdir(), 'later-'));
  for (const name of ['src', 'schemas', 'package.json']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const engine of ENGINES) append(join(folder, 'src/store', engine, 'migrations.ts'), steps);
  return {
    main: join(folder, 'src/main.ts'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The list is appended to in its source, as whoever writes the next step does. */
function append(file: string, steps: readonly Migration[]): void {
  const source = readFileSync(file, 'utf8');
  const end = source.indexOf('\n];', source.indexOf('export const MIGRATIONS'));
  if (end === -1) throw new Error(`${file} has no list of migrations`);
  const added = steps.map((step) => `\n  ${JSON.stringify(step)},`).join('');
  writeFileSync(file, source.slice(0, end) + added + source.slice(end));
}
