import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Migration } from '../../src/store/rows/migrations.ts';

const ROOT = join(import.meta.dirname, '../..');
const ENGINES = ['sqlite', 'postgres'] as const;

/** Another version of the program, in a folder of its own. */
export interface Version {
  /** What to start it with. */
  readonly main: string;
  /** What it compiles goes with its folder. */
  readonly settings: Readonly<Record<string, string>>;
  remove(): void;
}

const PARTS = ['src', 'schemas', 'package.json'];

/**
 * The program as it may be one day: this source tree, with these steps behind those that both engines have. They must be of
 * SQL that both know.
 */
export function makeLaterVersion(steps: readonly Migration[]): Version {
  return makeVersion((folder) => {
    for (const part of PARTS) cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    for (const engine of ENGINES) append(join(folder, 'src/store', engine, 'migrations.ts'), steps);
  });
}

/** The program as it was at this revision, with the packages of today. */
export function makeEarlierVersion(revision: string): Version {
  return makeVersion((folder) => {
    const archive = join(folder, 'archive.tar');
    execFileSync('git', ['archive', '--output', archive, revision, ...PARTS], { cwd: ROOT });
    execFileSync('tar', ['-xf', archive], { cwd: folder });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const generator = join(folder, 'src/contract/generate-validators.ts');
    if (existsSync(generator)) execFileSync(process.execPath, [generator]);
  });
}

function makeVersion(fill: (folder: string) => void): Version {
  const folder = mkdtempSync(join(tmpdir(), 'version-'));
  fill(folder);
  return {
    main: join(folder, 'src/main.ts'),
    settings: { NODE_COMPILE_CACHE: join(folder, 'cache') },
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
