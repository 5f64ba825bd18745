import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const ROOT = join(import.meta.dirname, '..');

const run = promisify(execFile);

describe('npm, before npm ci', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'clone-'));
    cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('says what to do first: npm start', async () => {
    const failed = await run('npm', ['start'], { cwd: folder }).catch((error: unknown) => error);
    expect(failed).to.include({ code: 1 });
    expect((failed as { stderr: string }).stderr).to.match(/^Nothing is installed yet: run npm ci first\.$/m);
    expect((failed as { stderr: string }).stderr).not.to.include('    at ');
  });
});

describe('the programs of a clone, before npm ci', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'clone-'));
    for (const name of ['package.json', 'src', 'schemas'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  for (const args of [['src/main.ts'], ['src/cli/main.ts', 'keys', 'list']]) {
    it(`say what to do first: node ${args.join(' ')}`, async () => {
      const failed = await run(process.execPath, args, { cwd: folder }).catch((error: unknown) => error);
      expect(failed).to.include({ code: 1, stderr: 'Nothing is installed yet: run npm ci first.\n' });
    });
  }
});

describe('the command that npm ci makes in a clone', () => {
  it('is the command line, in any folder', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'elsewhere-'));
    const { stdout } = await run(join(ROOT, 'gateway'), ['--version'], { cwd: folder });
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(stdout.trim()).to.equal(version);
    rmSync(folder, { recursive: true });
  });
});

describe('npm start, under a supervisor', () => {
  it('ends the gateway with the signal that npm gets', async function () {
    if (process.platform === 'win32') this.skip();
    const npm = spawn('npm', ['start'], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], PORT: '0', DATABASE_URL: ':memory:' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    const isReady = Promise.withResolvers<void>();
    npm.stdout.on('data', (piece: Buffer) => {
      said += piece.toString();
      if (said.includes('"input"')) isReady.resolve();
    });
    // It closes when the last process that writes to it has ended.
    const closed = once(npm.stdout, 'close');
    await Promise.race([isReady.promise, closed]);
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
    expect((await fetch(`${url}/healthz`)).status).to.equal(200);
    npm.kill('SIGTERM');
    await closed;
    expect(
      await fetch(`${url}/healthz`).then(
        ({ status }) => status,
        () => 'nothing listens',
      ),
    ).to.equal('nothing listens');
  });
});
