/**
 * `npm run lab mutate -- --seed 7 --count 30 [--skip 10] [--commit HEAD] [ROOM…]`: plants faults in a copy of the commit, and says
 * which test finds each.
 */

import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { API } from 'typescript/unstable/sync';
import { mutationsOf, type Mutation } from './mutations.ts';

interface Place extends Mutation {
  readonly file: string;
  readonly text: string;
  readonly lineNumber: number;
  /** Chance by seed. It stays the same while the line does, so that a seed finds its places again. */
  readonly rank: string;
}

const ROOT = join(import.meta.dirname, '../../..');

/** Tests that have not ended by then hang, which finds a fault as well. */
const LIMIT_MS = 600_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '30' },
    skip: { type: 'string', default: '0' },
    commit: { type: 'string', default: 'HEAD' },
  },
});
const rooms = positionals.length > 0 ? positionals : ['core', 'requests', 'store', 'backend', 'http'];

const copy = mkdtempSync(join(tmpdir(), 'mutate-'));
const config = join(copy, 'tsconfig.json');
const report = join(copy, 'report.json');
let endTests = (): void => {};
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    endTests();
    removeCopy();
    process.exit(1);
  });
}

execFileSync('git', ['worktree', 'add', '--quiet', '--detach', copy, values.commit], { cwd: ROOT });
const importers = readImporters();
const api = new API({ cwd: copy });
try {
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  execFileSync('node', ['src/contract/generate-validators.ts'], { cwd: copy });
  await plantAll(Number(values.count));
} finally {
  api.close();
  removeCopy();
}

/** By file, the files that name it, as an import or as a worker. */
function readImporters(): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const file of globSync('{src,test}/**/*.ts', { cwd: copy })) {
    for (const [, name = ''] of readFileSync(join(copy, file), 'utf8').matchAll(/'(\.{1,2}\/[^']+\.ts)'/g)) {
      const named = join(dirname(file), name);
      importers.set(named, [...(importers.get(named) ?? []), file]);
    }
  }
  return importers;
}

function removeCopy(): void {
  execFileSync('git', ['worktree', 'remove', '--force', copy], { cwd: ROOT });
}

/** As many in each room as in the others. */
async function plantAll(count: number): Promise<void> {
  const queues = rooms.map(placesIn);
  let [planted, found] = [0, 0];
  for (let at = 0; planted < count && queues.some(({ length }) => length > 0); at += 1) {
    const queue = queues[at % queues.length] ?? [];
    let place = queue.shift();
    while (place !== undefined && !plant(place)) place = queue.shift();
    if (place === undefined) continue;
    planted += 1;
    if (planted <= Number(values.skip)) {
      restore(place);
      continue;
    }
    const right = place.text.slice(place.start, place.end).replaceAll(/\s+/g, ' ');
    console.log(`${place.file}:${place.lineNumber} ${place.kind}: ${right}`);
    const finder = await findTest(place.file);
    if (finder !== undefined) found += 1;
    console.log(`    ${finder ?? 'SURVIVED'}`);
    restore(place);
  }
  console.log(`${found} of ${planted - Number(values.skip)} found, --seed ${values.seed}`);
}

function placesIn(room: string): Place[] {
  const program = readProgram([]);
  const places = globSync(`src/${room}/**/*.ts`, { cwd: copy }).flatMap((file) => {
    const source = program.getSourceFile(join(copy, file));
    if (source === undefined) return [];
    const { text } = source;
    const lines = text.split('\n');
    return mutationsOf(source).map((mutation) => {
      const { kind, start } = mutation;
      const lineNumber = text.slice(0, start).split('\n').length;
      const column = start - text.lastIndexOf('\n', start);
      const key = [values.seed, file, lines[lineNumber - 1], column, kind].join(' ');
      return { ...mutation, file, text, lineNumber, rank: createHash('sha256').update(key).digest('hex') };
    });
  });
  return places.toSorted((one, other) => (one.rank < other.rank ? -1 : 1));
}

/** False, with nothing changed, if the compiler would find it. */
function plant(place: Place): boolean {
  const path = join(copy, place.file);
  writeFileSync(path, place.text.slice(0, place.start) + place.wrong + place.text.slice(place.end));
  const program = readProgram([path]);
  const compiles = [program.getSyntacticDiagnostics(path), program.getSemanticDiagnostics(path)].flat().length === 0;
  if (!compiles) restore(place);
  return compiles;
}

function restore({ file, text }: Place): void {
  writeFileSync(join(copy, file), text);
  readProgram([join(copy, file)]);
}

function readProgram(changed: string[]) {
  const project = api.updateSnapshot({ openProjects: [config], fileChanges: { changed } }).getProject(config);
  if (project === undefined) throw new Error(`${config} cannot be read`);
  return project.program;
}

/**
 * The first test file that fails. The file's own goes first, then those that import it, the nearest at the head; what does not
 * import it cannot run it. What fails is tried alone again, so that chance finds nothing.
 */
async function findTest(file: string): Promise<string | undefined> {
  const tests = testsNear(file);
  let from = 0;
  for (const to of [2, 10, 40, tests.length]) {
    const failed = from < tests.length ? await runTests(tests.slice(from, to)) : undefined;
    from = to;
    if (failed === undefined) continue;
    if (!failed.startsWith('test/') || (await runTests([failed])) !== undefined) return failed;
    console.log(`    ${failed} failed once, and then no more`);
  }
  return undefined;
}

/** The test files from which imports lead to a file, ordered by how many they are. PostgreSQL has no other tests than its system tests. */
function testsNear(file: string): string[] {
  const own = file.replace(/^src/, 'test').replace(/\.ts$/, '.');
  const near = new Set([file]);
  for (const each of near) for (const importer of importers.get(each) ?? []) near.add(importer);
  const isTest = file.includes('postgres') ? /\/postgres\/.*\.(test|system)\.ts$/ : /\.test\.ts$/;
  const tests = [...near].filter((each) => isTest.test(each) && !each.startsWith('test/clients/'));
  return tests.toSorted((one, other) => Number(other.startsWith(own)) - Number(one.startsWith(own)));
}

/** What failed first: a test file, or all of them. Undefined if nothing did. */
async function runTests(files: readonly string[]): Promise<string | undefined> {
  rmSync(report, { force: true });
  const flags = '--parallel --jobs 2 --bail --timeout 60000 --reporter json --reporter-option'.split(' ');
  const tests = spawn('mocha', [...flags, `output=${report}`, ...files], {
    cwd: copy,
    detached: true,
    stdio: 'ignore',
    // As many cases of long lists as `npm test` has.
    env: { ...process.env, npm_lifecycle_event: 'test' },
  });
  let isHung = false;
  endTests = () => {
    if (tests.pid !== undefined && tests.exitCode === null) process.kill(-tests.pid, 'SIGKILL');
  };
  const timer = setTimeout(() => {
    isHung = true;
    endTests();
  }, LIMIT_MS);
  const [code] = await once(tests, 'exit');
  clearTimeout(timer);
  if (code === 0) return undefined;
  if (isHung) return 'a hang';
  if (!existsSync(report)) return 'no test begins';
  const { failures } = JSON.parse(readFileSync(report, 'utf8')) as { readonly failures: readonly { file: string }[] };
  return relative(copy, failures[0]?.file ?? 'a hook');
}
