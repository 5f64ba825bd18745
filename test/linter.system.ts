import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..');
const IMPORTS = 'eslint(no-restricted-imports)';
const GLOBALS = 'eslint(no-restricted-globals)';
const PROPERTIES = 'eslint(no-restricted-properties)';

/** One small file each, named by where it lies, and the rules that must speak up in it. */
const probes: readonly { file: string; source: string; rules: readonly string[] }[] = [
  ...inCore(GLOBALS, {
    'reads-clock': 'Date.now()',
    'makes-date': 'new Date()',
    'reads-performance': 'performance.now()',
    'reads-environment': 'process',
    'sets-timer': 'setTimeout(() => 1, 1)',
    'draws-uuid': 'crypto.randomUUID()',
    'goes-around': 'globalThis.process',
  }),
  ...inCore(PROPERTIES, { 'draws-random': 'Math.random()', 'sets-deadline': 'AbortSignal.timeout(1)' }),
  { file: 'src/http/reads-environment.ts', source: 'export const x = process.env;', rules: ['node(no-process-env)'] },
  { file: 'src/http/prints.ts', source: `console.log('x');`, rules: ['eslint(no-console)'] },
  { file: 'src/main.ts', source: 'console.log(process.env);', rules: [] },
  { file: 'test/alone.test.ts', source: `it.only('runs alone', () => {});`, rules: [PROPERTIES] },
  {
    file: 'test/quick.test.ts',
    source: `import { startGatewayProcess } from './support/gateway-process.ts';\nexport const mine = startGatewayProcess;`,
    rules: [IMPORTS],
  },
  {
    file: 'test/slow.system.ts',
    source: `import { startGatewayProcess } from './support/gateway-process.ts';\nexport const mine = startGatewayProcess;`,
    rules: [],
  },
  {
    file: 'src/http/chicken.ts',
    source: `import { egg } from './egg.ts';\nexport const chicken = (): unknown => egg;`,
    rules: ['import(no-cycle)'],
  },
  {
    file: 'src/http/egg.ts',
    source: `import { chicken } from './chicken.ts';\nexport const egg = (): unknown => chicken;`,
    rules: ['import(no-cycle)'],
  },
  {
    file: 'src/http/hen.ts',
    source: `import type { Nest } from './nest.ts';\nexport interface Hen {\n  readonly nest: Nest;\n}`,
    rules: ['import(no-cycle)'],
  },
  {
    file: 'src/http/nest.ts',
    source: `import type { Hen } from './hen.ts';\nexport interface Nest {\n  readonly hen: Hen;\n}`,
    rules: ['import(no-cycle)'],
  },
];

describe('the linter', () => {
  let folder: string;
  let found: ReadonlyMap<string, readonly string[]>;

  // One run of the linter for all probes, since its start takes longer than the rest.
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'linter-'));
    copyFileSync(join(ROOT, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
    for (const { file, source } of probes) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      writeFileSync(join(folder, file), source);
    }
    found = lint(folder);
  });

  after(() => {
    rmSync(folder, { recursive: true });
  });

  for (const { file, source, rules } of probes) {
    it(`${rules.length === 0 ? 'allow' : 'forbid'} in ${dirname(file)}: ${source.split('\n').join(' ')}`, () => {
      expect(found.get(file) ?? []).to.deep.equal(rules);
    });
  }
});

function inCore(rule: string, expressions: Readonly<Record<string, string>>) {
  return Object.entries(expressions).map(([name, expression]) => ({
    file: `src/core/${name}.ts`,
    source: `export const x = ${expression};`,
    rules: [rule],
  }));
}

/** The rules which speak up, without repetition, by file. */
function lint(folder: string): ReadonlyMap<string, readonly string[]> {
  const oxlint = join(ROOT, 'node_modules/oxlint/bin/oxlint');
  const { stdout } = spawnSync(process.execPath, [oxlint, '--format=json'], { cwd: folder, encoding: 'utf8' });
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { filename: string; code: string }[] };
  const found = new Map<string, string[]>();
  for (const { filename, code } of diagnostics) {
    const rules = found.get(filename) ?? [];
    if (!rules.includes(code)) found.set(filename, [...rules, code]);
  }
  return found;
}
