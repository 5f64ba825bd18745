/** `npm run lab size -- [COMMIT …]`: how large the repository was at each of these commits, and is at HEAD. */

import { execFileSync } from 'node:child_process';

const commits = [...process.argv.slice(2), 'HEAD'];

interface Source {
  readonly path: string;
  readonly text: string;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 30 });
}

/** Returns all files that people write, as they were committed. */
function readSources(commit: string): readonly Source[] {
  const paths = git('ls-tree', '-r', '--name-only', commit)
    .split('\n')
    .filter((path) => /\.(?:ts|md)$|^package\.json$|^schemas\/settings\.json$/.test(path))
    .filter((path) => !/^src\/contract\/(?:.*types|validators\.generated.*)\.ts$|\.d\.ts$/.test(path));
  const stored = execFileSync('git', ['cat-file', '--batch'], {
    input: paths.map((path) => `${commit}:${path}`).join('\n'),
    maxBuffer: 1 << 30,
  });
  let at = 0;
  return paths.map((path) => {
    const headEnd = stored.indexOf('\n', at);
    const bytes = Number(stored.toString('utf8', at, headEnd).split(' ')[2]);
    at = headEnd + 1 + bytes + 1;
    return { path, text: stored.toString('utf8', headEnd + 1, headEnd + 1 + bytes) };
  });
}

function measure(commit: string): Readonly<Record<string, number>> {
  const all = readSources(commit);
  const ours = all.filter(({ path }) => /^src\/.*\.ts$/.test(path));
  const rooms = new Map<string, readonly Source[]>();
  for (const source of ours) {
    const [, room = '', ...inside] = source.path.split('/');
    const name = inside.length === 0 ? 'main.ts, gateway.ts' : room;
    rooms.set(name, [...(rooms.get(name) ?? []), source]);
  }
  const jsonOf = (name: string): unknown => JSON.parse(all.find(({ path }) => path === name)?.text ?? '{}');
  const guides = all.filter(({ path }) => path === 'README.md' || /^src\/docs\/[^/]+\.md$/.test(path));
  return {
    'TypeScript in src, lines': linesOf(ours),
    ...Object.fromEntries([...rooms].map(([room, sources]) => [`  ${room}`, linesOf(sources)])),
    'files in src': ours.length,
    'exported names': countIn(ours, /^export (?!\{|\*)/gm),
    types: countIn(ours, /^(?:export )?(?:interface|type) \w/gm),
    'lines with Pick or Omit': countIn(ours, /^.*\b(?:Pick|Omit)<.*$/gm),
    'TypeScript in test, lines': linesOf(all.filter(({ path }) => /^test\/.*\.ts$/.test(path))),
    settings: countKeys(jsonOf('schemas/settings.json'), 'properties'),
    'npm scripts': countKeys(jsonOf('package.json'), 'scripts'),
    guides: guides.length - 1,
    'words of README and guides': countIn(guides, /\S+/g),
  };
}

function linesOf(sources: readonly Source[]): number {
  return countIn(sources, /\n/g);
}

function countIn(sources: readonly Source[], what: RegExp): number {
  return sources.reduce((sum, { text }) => sum + (text.match(what)?.length ?? 0), 0);
}

function countKeys(json: unknown, name: string): number {
  const found: unknown = Reflect.get(Object(json), name);
  return Object.keys(Object(found)).length;
}

const measured = commits.map((commit) => ({ commit, sizes: measure(commit) }));
const names = [...new Set(measured.flatMap(({ sizes }) => Object.keys(sizes)))];
console.log(['', ...commits].map((text, at) => (at === 0 ? text.padEnd(28) : text.padStart(9))).join(' '));
for (const name of names) {
  const row = measured.map(({ sizes }) => String(sizes[name] ?? '–').padStart(9));
  console.log([name.padEnd(28), ...row].join(' '));
}
