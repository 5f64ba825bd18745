/** The package as its users get it: packed, installed into a folder far from this one, and started by its name. */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import packageJson from '../../package.json' with { type: 'json' };
import { findNodeProblem } from '../../src/process/start-problem.ts';
import type { ResponseResource } from '../../src/contract/types.ts';
import { DOCUMENTS, readLinks } from '../docs/documents.ts';
import { untilRead } from '../support/time.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

/** What `npm pack --json` says of a package, as far as it is looked at. */
interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly mode: number }[];
}

const EMBEDDING = `
import { createGateway, readConfig, type Gateway } from 'responses-gateway';

const config = readConfig({ DATABASE_URL: ':memory:', PORT: '0', LOG_LEVEL: 'silent' });
const gateway: Gateway = await createGateway(config, { nowMs: () => 1790000000000 });
// @ts-expect-error: it has types of its own, not any.
void gateway.nonsense;
const { url } = await gateway.listen();
const reply = await fetch(url + '/api/v1/responses', {
  method: 'POST',
  headers: { authorization: 'Bearer demo', 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'demo', input: 'Hello' }),
});
console.log(((await reply.json()) as { created_at: number }).created_at);
await gateway.close();
`;

describe('the package', () => {
  let folder: string;
  let packed: Packed;
  let gateway: ChildProcess | undefined;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'package-'));
    const { stdout } = await npm(ROOT, 'pack', '--json', '--loglevel=error', '--pack-destination', folder);
    [packed] = JSON.parse(stdout) as [Packed];
    writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}');
    await npm(folder, 'install', '--no-audit', '--no-fund', '--prefer-offline', join(folder, packed.filename));
    console.log(
      `  ${packed.filename}: ${packed.files.length} files, ${kilobytes(packed.size)}, unpacked ${kilobytes(packed.unpackedSize)}`,
    );
  });

  afterEach(() => {
    // The group: npx has started a shell, and that the gateway.
    if (gateway?.pid !== undefined && gateway.exitCode === null) process.kill(-gateway.pid, 'SIGKILL');
    gateway = undefined;
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  it('holds what runs and what its types say, and no source and no test', () => {
    const paths = packed.files.map(({ path }) => path);
    const strange =
      /^(?!dist\/(src|schemas)\/|dist\/package\.json$|\.github\/\w+\.(?:md|svg)$|src\/docs\/[\w-]+\.(?:md|svg)$|src\/deploy\/\w+\.\w+$|(package\.json|README\.md|LICENSE|\.env\.example)$)/;
    expect(paths.filter((path) => strange.test(path))).to.deep.equal([]);
    expect(paths.filter((path) => /(?<!\.d)\.ts$|\.map$|tsconfig/.test(path))).to.deep.equal([]);
    expect(paths.filter((path) => path.startsWith('dist/src/console/'))).to.have.members(
      readdirSync(join(ROOT, 'src/console'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => `dist/${relative(ROOT, join(parentPath, name))}`)
        .filter((path) => !/\/vendor\/|\.json$/.test(path)),
    );
    const guides = readdirSync(join(ROOT, 'src/docs')).filter((name) => /\.(?:md|svg)$/.test(name));
    expect(paths.filter((path) => path.includes('src/docs/'))).to.have.members(
      guides.map((name) => `src/docs/${name}`),
    );
  });

  it('has every file that its README and its guides link to', () => {
    const paths = new Set(packed.files.map(({ path }) => path));
    const dead = DOCUMENTS.flatMap((document) =>
      readLinks(document)
        .filter((link) => !/^(?:\w+:|#)/.test(link))
        .map((link) => ({ in: document.path, to: new URL(link, `file:///${document.path}`).pathname.slice(1) })),
    ).filter(({ to }) => !paths.has(to));
    expect(dead).to.deep.equal([]);
  });

  it('says its version', async () => {
    expect((await npx('--version')).stdout).to.equal(`${packageJson.version}\n`);
  });

  it('answers the first request, as JSON and as a stream, and shows its pages', async () => {
    const url = await startByNpx('demo');
    const whole = await create(url, { model: 'demo', input: 'Hello' });
    expect(((await whole.json()) as ResponseResource).output_text).to.match(/^Hello from the demo backend/);
    const stream = await create(url, { model: 'demo', input: 'Hello', stream: true });
    expectWellFormed(parseEvents(await stream.text()));
    for (const path of [
      '/',
      '/docs',
      '/docs/readme',
      '/docs/settings',
      '/docs/api',
      '/docs/dashboard.json',
      '/openapi.json',
      '/console/',
      '/console/vendor/uplot.js',
      '/healthz',
      '/readyz',
    ]) {
      expect((await fetch(url + path)).status, path).to.equal(200);
    }
  });

  it('counts input tokens, by a thread and a vocabulary of its own', async () => {
    const url = await startByNpx('demo');
    let counted: { readonly estimated_by?: string } = {};
    // The gateway estimates by itself while the thread still starts, which takes a busy machine a while.
    await untilRead(async () => {
      const reply = await create(url, { model: 'demo', input: 'Hello' }, { path: '/responses/input_tokens' });
      counted = (await reply.json()) as typeof counted;
      return counted.estimated_by !== 'arithmetic';
    });
    expect(counted).to.include({ input_tokens: 8, estimated_by: 'o200k_base' });
  });

  it('manages keys beside a running gateway, in the same records', async () => {
    const env = { AUTH_MODE: 'managed', DATABASE_URL: 'file:./data/managed.db', UPSTREAM_API_KEY: '' };
    await npx('db migrate', env);
    const { stdout } = await npx('keys create --name first --json', env);
    const { secret: apiKey } = JSON.parse(stdout) as { secret: string };
    const url = await startByNpx('start', env);
    expect((await create(url, { model: 'demo', input: 'Hello' }, { apiKey })).status).to.equal(200);
    expect((await create(url, { model: 'demo', input: 'Hello' }, { apiKey: 'another' })).status).to.equal(401);
    const listed = await npx('keys list --json', env);
    expect(listed.stdout).to.contain('"first"').and.not.contain(apiKey);
  });

  it('ends with 0 at SIGTERM, started without npx, as a supervisor would', async () => {
    const program = join(folder, 'node_modules/responses-gateway', packageJson.bin['responses-gateway']);
    gateway = spawn(process.execPath, [program, 'demo'], { ...options(), detached: true });
    await urlInBanner(gateway);
    gateway.kill('SIGTERM');
    expect(await once(gateway, 'exit')).to.deep.equal([0, null]);
  });

  it('is embedded by its name, with types that a strict compiler takes', async () => {
    writeFileSync(join(folder, 'embedding.ts'), EMBEDDING);
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          exactOptionalPropertyTypes: true,
          target: 'es2024',
          module: 'nodenext',
          types: ['node'],
          typeRoots: [join(ROOT, 'node_modules/@types')],
          skipLibCheck: false,
        },
      }),
    );
    await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc')], options());
    const { stdout } = await run(process.execPath, ['embedding.js'], options());
    expect(stdout).to.equal('1790000000\n');
  });

  it('says in one line what it needs, on an older Node', async function () {
    const older = findOlderNode();
    if (older === undefined) {
      console.log('  not run, since no older Node is in the path: what the package says on one');
      return this.skip();
    }
    const program = join(folder, 'node_modules/responses-gateway', packageJson.bin['responses-gateway']);
    for (const args of [['--version'], ['start']]) {
      const ended = await run(older, [program, ...args], options()).catch((error: unknown) => error);
      expect(ended).to.include({ code: 1, stdout: '' });
      expect(ended)
        .to.have.property('stderr')
        .that.matches(/^The gateway needs Node 22\.20 or newer; this is [\d.]+\. [^\n]*\n$/);
    }
  });

  function options(env: Readonly<Record<string, string>> = {}) {
    return {
      cwd: folder,
      env: { ...environment(), PORT: '0', DATABASE_URL: ':memory:', LOG_LEVEL: 'silent', ...env },
    };
  }

  function npx(line: string, env?: Readonly<Record<string, string>>) {
    return run('npx', ['--no-install', 'responses-gateway', ...line.split(' ')], options(env));
  }

  async function startByNpx(command: string, env?: Readonly<Record<string, string>>): Promise<string> {
    gateway = spawn('npx', ['--no-install', 'responses-gateway', command], { ...options(env), detached: true });
    return urlInBanner(gateway);
  }
});

function npm(cwd: string, ...args: readonly string[]) {
  return run('npm', args, { cwd, env: environment(), maxBuffer: 16 * 1024 * 1024 });
}

/** That of a person in a shell. What npm tells the scripts it runs, such as this one, would lead another npm back here. */
function environment(): NodeJS.ProcessEnv {
  const env = Object.entries(process.env).filter(
    ([name]) => !/^(npm_(?!config_(registry|cache|userconfig))|INIT_CWD)/.test(name),
  );
  return Object.fromEntries(env);
}

async function urlInBanner(child: ChildProcess): Promise<string> {
  let printed = '';
  for await (const piece of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    printed += String(piece);
    const url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0];
    if (url !== undefined) return url;
  }
  throw new Error(`it ended without a banner: ${printed}`);
}

function create(url: string, body: object, { apiKey = 'demo', path = '/responses' } = {}): Promise<Response> {
  return fetch(`${url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

/** The first in the path that cannot run the gateway. That of node_modules, which runs this, is in front of them all. */
function findOlderNode(): string | undefined {
  const candidates = (process.env['PATH'] ?? '').split(delimiter).map((place) => join(place, 'node'));
  return candidates.find((file) => {
    try {
      return findNodeProblem(execFileSync(file, ['-p', 'process.versions.node'], { encoding: 'utf8' })) !== undefined;
    } catch {
      return false;
    }
  });
}

function kilobytes(bytes: number): string {
  return `${Math.round(bytes / 1000)} kB`;
}
