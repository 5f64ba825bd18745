import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..');
const IMPORTS = 'eslint(no-restricted-imports)';
const GLOBALS = 'eslint(no-restricted-globals)';
const PROPERTIES = 'eslint(no-restricted-properties)';

/** One small file each, named by where it lies, and the layer rules that must speak up in it. */
const probes: readonly { file: string; source: string; rules: readonly string[] }[] = [
  ...forbidden('src/contract', ['../core/errors.ts', '../http/app.ts', 'express', 'node:fs']),
  ...forbidden('src/core', [
    'node:fs',
    'node:http',
    'node:crypto',
    'undici',
    '../store/store.ts',
    '../backend/chat.ts',
    '../http/app.ts',
    '../config/config.ts',
    '../gateway.ts',
  ]),
  ...forbidden('src/core/reply', ['node:crypto', '../../backend/chat.ts', '../../requests/facts.ts', 'undici']),
  ...forbidden('src/identity', ['../store/store.ts', '../http/app.ts', '../requests/facts.ts', 'express', 'pg']),
  ...forbidden('src/backend', [
    '../store/store.ts',
    '../http/app.ts',
    '../requests/accept.ts',
    '../config/config.ts',
    'express',
    'better-sqlite3',
    'pg',
  ]),
  ...forbidden('src/backend/demo', ['../../http/app.ts', '../../config/config.ts']),
  ...forbidden('src/store', [
    '../backend/chat.ts',
    '../http/app.ts',
    '../requests/accept.ts',
    '../config/config.ts',
    'express',
    'undici',
  ]),
  ...forbidden('src/store/sqlite', ['../../backend/chat.ts', '../../http/app.ts', '../../gateway.ts']),
  ...forbidden('src/requests', [
    '../http/app.ts',
    '../web-socket/frames.ts',
    '../telemetry/log.ts',
    '../store/sqlite/open.ts',
    '../gateway.ts',
    'express',
    'node:http',
    'undici',
    'ws',
  ]),
  ...forbidden('src/telemetry', ['../http/app.ts', '../store/store.ts', '../backend/chat.ts', 'pg', 'undici']),
  ...forbidden('src/http', [
    '../store/sqlite/open.ts',
    '../store/postgres/open.ts',
    '../web-socket/handshake.ts',
    '../gateway.ts',
    'better-sqlite3',
    'js-tiktoken',
    'js-tiktoken/lite',
    'pg',
    'undici',
  ]),
  ...forbidden('src/web-socket', ['../store/store.ts', '../accounts/keys.ts', '../gateway.ts', 'pg', 'undici']),
  ...forbidden('src/config', ['../http/app.ts', '../backend/chat.ts', '../store/sqlite/open.ts', 'express', 'undici']),
  ...forbidden('src/rpc', ['../store/store.ts', '../core/ids.ts', '../requests/plan.ts', 'node:net']),
  ...forbidden('src/tokenizer', ['../http/app.ts', '../backend/chat.ts', '../store/store.ts', '../config/config.ts']),
  ...forbidden('src/console', ['../http/app.ts', '../core/ids.ts', 'uplot', 'https://cdn.example.com/x.js']),
  ...forbidden('src/console/operator', ['../../http/app.ts', '../../core/ids.ts', 'uplot']),
  ...forbidden('src/accounts', [
    '../http/app.ts',
    '../backend/chat.ts',
    '../store/sqlite/keys.ts',
    '../config/config.ts',
    'express',
  ]),
  ...forbidden('src/alerts', [
    '../http/app.ts',
    '../accounts/keys.ts',
    '../store/sqlite/keys.ts',
    '../backend/chat.ts',
    'pg',
  ]),
  ...forbidden('src/cli', ['../http/requests.ts', '../gateway.ts', 'express', 'better-sqlite3', 'pg']),
  {
    file: 'src/core/reads-types-of-http.ts',
    source: `import type { App } from '../http/app.ts';\nexport type Mine = App;`,
    rules: [IMPORTS],
  },
  { file: 'src/core/passes-on.ts', source: `export { app } from '../http/app.ts';`, rules: [IMPORTS] },
  { file: 'src/core/loads-later.ts', source: `export const app = await import('../http/app.ts');`, rules: [IMPORTS] },
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
  allowed('src/contract', ['./ids.ts', '../../schemas/admin.json', 'ajv', 'node:module']),
  allowed('src/core', ['./errors.ts', '../contract/types.ts']),
  allowed('src/core/reply', ['./fold.ts', '../errors.ts', '../request/tools.ts', '../../contract/types.ts']),
  allowed('src/identity', ['../core/ids.ts', '../contract/ids.ts', './seal.ts', 'node:crypto', 'node:fs']),
  allowed('src/backend', ['../core/errors.ts', './sse.ts', 'node:net', 'undici', 'eventsource-parser']),
  allowed('src/store', [
    '../core/ids.ts',
    '../identity/identities.ts',
    './sqlite/open.ts',
    'node:fs',
    'better-sqlite3',
  ]),
  allowed('src/store/sqlite', ['../store.ts', '../../core/ids.ts', '../../contract/types.ts', 'better-sqlite3']),
  allowed('src/requests', ['./facts.ts', '../accounts/admission.ts', '../backend/chat.ts', '../store/store.ts']),
  allowed('src/telemetry', ['../requests/facts.ts', '../core/ids.ts', 'node:http', 'pino', 'express']),
  allowed('src/http', ['../requests/respond.ts', '../backend/chat.ts', '../store/store.ts', 'express', 'node:http']),
  allowed('src/web-socket', ['../requests/respond.ts', '../http/access/load.ts', '../telemetry/observe.ts', 'ws']),
  allowed('src/config', ['../core/dialects.ts', '../contract/types.ts', '../store/database-url.ts', 'node:fs']),
  allowed('src/console', ['./dom.js', './vendor/uplot.js', './vendor/eventsource-parser/stream.js']),
  allowed('src/console/operator', ['../dom.js', './table.js']),
  allowed('src/accounts', ['../core/errors.ts', '../store/keys.ts', '../contract/shape-error.ts', './keys.ts', 'ajv']),
  allowed('src/alerts', [
    '../store/store.ts',
    '../requests/preparation/image-urls.ts',
    '../telemetry/instruments.ts',
    'undici',
  ]),
  allowed('src/rpc', ['../core/errors.ts', './rpc.ts', 'node:worker_threads']),
  allowed('src/tokenizer', ['../core/errors.ts', './pieces.ts', 'node:worker_threads', 'js-tiktoken/lite']),
  allowed('src/cli', ['../process/serve.ts', '../config/config.ts', '../store/sqlite/backup.ts', 'commander']),
  allowed('src', ['./http/app.ts', './store/sqlite/open.ts', './backend/chat.ts', './config/config.ts']),
];

describe('the layers', () => {
  let folder: string;
  let found: ReadonlyMap<string, readonly string[]>;

  // One run of the linter for all probes, since its start takes longer than the rest.
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'layers-'));
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

function forbidden(layer: string, modules: readonly string[]) {
  return modules.map((module, index) => ({
    file: `${layer}/forbidden${index}.ts`,
    source: `import * as it from '${module}';\nexport const mine = [it];`,
    rules: [IMPORTS],
  }));
}

function allowed(layer: string, modules: readonly string[]) {
  const imports = modules.map((module, index) => `import * as m${index} from '${module}';`);
  const names = modules.map((_, index) => `m${index}`).join(', ');
  return { file: `${layer}/allowed.ts`, source: [...imports, `export const mine = [${names}];`].join('\n'), rules: [] };
}

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
