import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { startGatewayProcess } from '../support/gateway-process.ts';

/** What a process knows of the cache after it was asked to keep one, and after a thread of its own has started. */
const SCRIPT = `
  import { getCompileCacheDir } from 'node:module';
  import { Worker } from 'node:worker_threads';
  import { keepCompiled } from ${JSON.stringify(new URL('../../src/process/compile-cache.ts', import.meta.url).href)};
  keepCompiled(process.argv[1], process.env);
  const inThread = "require('node:worker_threads').parentPort.postMessage(require('node:module').getCompileCacheDir())";
  new Worker(inThread, { eval: true, execArgv: [] }).on('message', (thread) => {
    console.log(JSON.stringify({ main: getCompileCacheDir(), thread, env: process.env.NODE_COMPILE_CACHE }));
  });`;

describe('warm-up.ts, which npm ci runs', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'warm-up-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('has everything compiled that a start loads', async () => {
    const cache = join(folder, 'cache');
    const env = { NODE_COMPILE_CACHE: cache };
    // A cache that is there from the start has a folder more for threads, since V8 gets a flag after it. Names are those of sources.
    const countKept = () => {
      const files = readdirSync(cache, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      return new Set(files.map(({ name }) => name)).size;
    };
    const warmUp = join(import.meta.dirname, '../../src/process/warm-up.ts');
    const { stderr } = await promisify(execFile)(process.execPath, [warmUp], { env });
    expect(stderr).to.match(/^Compiling the gateway .* a few seconds …\n$/);
    const before = countKept();
    expect(before).to.be.above(200);
    const gateway = await startGatewayProcess({ ...env, DATABASE_URL: `file:${join(folder, 'gateway.db')}` });
    await gateway.stop();
    expect(countKept() - before, 'compiled by the start itself').to.be.below(10);
  });
});

describe('keepCompiled', () => {
  let folder: string;
  let kept: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'compiled-'));
    kept = join(folder, 'node_modules/.cache/compiled');
    mkdirSync(join(folder, 'node_modules'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  async function start(settings: Readonly<Record<string, string>> = {}) {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--input-type=module', '-e', SCRIPT, join(folder, 'src')],
      { env: settings },
    );
    return JSON.parse(stdout) as { readonly main?: string; readonly thread?: string; readonly env?: string };
  }

  it('keeps what is compiled among the packages, that of threads too', async () => {
    const { main, thread, env } = await start();
    expect(env).to.equal(kept);
    expect(main).to.match(/node_modules\/\.cache\/compiled\/v/);
    expect(thread).to.equal(main);
    expect(readdirSync(kept)).to.have.lengthOf(1);
  });

  it('leaves a cache alone that the operator has chosen, or refused', async () => {
    const own = join(folder, 'own');
    expect((await start({ NODE_COMPILE_CACHE: own })).main).to.match(/own\/v/);
    expect(await start({ NODE_DISABLE_COMPILE_CACHE: '1' })).to.deep.equal({});
    expect(existsSync(kept)).to.equal(false);
  });

  it('keeps nothing while the coverage of tests is counted', async () => {
    expect(await start({ NODE_V8_COVERAGE: join(folder, 'coverage') })).to.deep.equal({});
  });

  it('keeps nothing where there are no packages, or nothing can be written', async () => {
    writeFileSync(join(folder, 'node_modules/.cache'), 'a file in the way');
    expect(await start()).to.deep.equal({});
    rmSync(join(folder, 'node_modules'), { recursive: true });
    expect(await start()).to.deep.equal({});
    expect(readdirSync(folder)).to.deep.equal([]);
  });
});
