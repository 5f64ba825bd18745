import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { connectStore } from '../../src/store/open.ts';
import { startScriptedBackend } from '../support/backend.ts';
import { BEHAVIOURS, play } from '../support/dialect-backends.ts';
import { newDraft } from '../support/records.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');

describe('responses-gateway, as a process', () => {
  // Each start loads the program anew, which takes seconds where the machine is busy.
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cli-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    return spawn(process.execPath, [MAIN, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  }

  async function runProcess(args: readonly string[], env?: Readonly<Record<string, string>>) {
    const child = start(args, env);
    const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    return { status: status as number, stdout, stderr };
  }

  it('reads .env as npm start does, behind the environment', async () => {
    writeFileSync(join(folder, '.env'), 'PORT=9001\nHOST=127.0.0.2\n');
    const { status, stdout } = await runProcess(['config', 'print'], { HOST: '127.0.0.3' });
    expect(stdout).to.match(/^PORT +9001 +\.env$/m);
    expect(stdout).to.match(/^HOST +127\.0\.0\.3 +environment$/m);
    expect(status).to.equal(0);
  });

  it('ends with one sentence where .env cannot be read', async () => {
    mkdirSync(join(folder, '.env'));
    const { status, stderr } = await runProcess(['config', 'print']);
    expect(stderr).to.match(/^The file \.env cannot be read: [^\n]+\n$/);
    expect(status).to.equal(1);
  });

  it('ends with the exit status of the command', async () => {
    const [failed, misused, unset] = await Promise.all([
      runProcess(['keys', 'list'], { DATABASE_URL: ':memory:' }),
      runProcess(['nonsense']),
      runProcess(['keys', 'list'], { PORT: 'x' }),
    ]);
    expect(failed).to.include({ status: 1, stdout: '' });
    expect([misused.status, unset.status]).to.deep.equal([2, 78]);
  });

  for (const { command, env, warns } of [
    { command: 'start', env: {}, warns: /^$/ },
    { command: '', env: {}, warns: /^$/ },
    {
      command: 'demo',
      warns: /^Warning: NODE_ENV is production.*\n$/,
      env: {
        NODE_ENV: 'production',
        UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
        AUTH_MODE: 'managed',
        UPSTREAM_API_KEY_FILE: '/nowhere/key',
        BACKENDS_FILE: '/nowhere/backends.json',
      },
    },
  ]) {
    it(`serves with ${command === '' ? 'no command' : command}, and ends with 0 at SIGTERM`, async () => {
      const child = start(command === '' ? [] : [command], {
        PORT: '0',
        DATABASE_URL: ':memory:',
        LOG_LEVEL: 'silent',
        ...env,
      });
      const warned = text(child.stderr);
      let banner = '';
      for await (const piece of child.stdout) {
        banner += String(piece);
        if (banner.includes('"input"')) break;
      }
      expect(banner).to.contain('the embedded demo backend');
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(banner)?.[0];
      expect(await (await fetch(`${url}/healthz`)).json()).to.deep.equal({ status: 'ok' });
      child.kill('SIGTERM');
      const [status] = (await once(child, 'exit')) as [number];
      expect(status).to.equal(0);
      expect(await warned).to.match(warns);
    });
  }

  it('writes the settings of a backend once, with what it takes better than its kind', async () => {
    const backend = await startScriptedBackend();
    backend.always(play(BEHAVIOURS.ollama));
    const args = ['init', '--base-url', backend.baseUrl];
    const { status, stdout, stderr } = await runProcess(args);
    expect(status, stderr).to.equal(0);
    expect(stdout).to.match(/^Works.*\ndialects\.json and \.env written\. Start the gateway with `npm start`\.\n$/);
    const written = readFileSync(join(folder, '.env'), 'utf8');
    expect(statSync(join(folder, '.env')).mode & 0o777).to.equal(0o600);
    const checked = await runProcess(['config', 'print']);
    expect(checked.stdout).to.match(/^UPSTREAM_DIALECT +my-backend +\.env$/m);
    expect(JSON.parse(readFileSync(join(folder, 'dialects.json'), 'utf8'))).to.deep.equal({
      'my-backend': { extends: 'ollama', systemPlace: 'in-place' },
    });
    expect(checked.status).to.equal(0);
    const again = await runProcess(args);
    expect(again).to.include({ status: 1, stdout: '' });
    expect(again.stderr).to.match(/^\.env already exists/);
    expect(readFileSync(join(folder, '.env'), 'utf8')).to.equal(written);
    await backend.close();
  });

  it('ends with 0, and says nothing, when its reader closes the pipe', async () => {
    const child = start(['config', 'print']);
    child.stdout.destroy();
    const [said, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect({ said, status }).to.deep.equal({ said: '', status: 0 });
  });

  it('ends a watch with 0 at Ctrl-C', async () => {
    const store = await connectStore({ databaseUrl: `file:${folder}/data/gateway.db` });
    const { requestId } = newDraft();
    await store.accept(newDraft({ requestId }));
    const child = start(['requests', 'watch', '--json']);
    const ended = once(child, 'exit');
    for await (const piece of child.stdout) if (String(piece).includes(requestId)) break;
    child.kill('SIGINT');
    expect(await ended).to.deep.equal([0, null]);
    await store.close();
  });
});
