import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { platform, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { BEHAVIOURS, chatsOf, play } from '../support/dialect-backends.ts';
import { hashFolder } from '../support/hash-folder.ts';

const MAIN = join(import.meta.dirname, '../../src/cli/main.ts');
const KEY = 'sk-of-the-backend';

/** Where each agent finds what it needs to ask. */
const SETTINGS = {
  codex: `
const config = readFileSync(env.CODEX_HOME + '/config.toml', 'utf8');
const valueOf = (name) => JSON.parse(new RegExp('^' + name + ' = (.*)$', 'm').exec(config)[1]);
const settings = { baseUrl: valueOf('base_url'), model: valueOf('model'), apiKey: env.GATEWAY_API_KEY };`,
  copilot: `
const settings = { baseUrl: env.COPILOT_PROVIDER_BASE_URL, model: env.COPILOT_MODEL, apiKey: env.COPILOT_PROVIDER_API_KEY };`,
  cline: `
const file = env.CLINE_SANDBOX_DATA_DIR + '/settings/providers.json';
const { lastUsedProvider, providers } = JSON.parse(readFileSync(file, 'utf8'));
const global = JSON.parse(readFileSync(env.CLINE_DATA_DIR + '/settings/global-settings.json', 'utf8'));
const settings = global.telemetryOptOut ? providers[lastUsedProvider].settings : {};`,
} as const;

/** Returns a program that asks as an agent does, tells what it was given, and waits for a signal where its argument says so. */
const writeAgent = (readSettings: string) => `#!${process.execPath}
const { env, argv, exit, kill, pid } = process;
const { readFileSync } = require('node:fs');
const [, , manner, ...rest] = argv;
${readSettings}
const headers = { authorization: 'Bearer ' + settings.apiKey, 'content-type': 'application/json' };
const body = JSON.stringify({ model: settings.model, input: 'Hello' });
fetch(settings.baseUrl + '/responses', { method: 'POST', headers, body })
  .then((reply) => reply.json())
  .then(({ status, model, error }) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'])
      process.on(name, () => { console.log(name); exit(5); });
    console.log(JSON.stringify({ rest, env, status, model, error }));
    if (manner === 'wait') return setInterval(() => undefined, 60_000);
    if (manner === 'die') return kill(pid, 'SIGKILL');
    exit(Number(manner));
  });
`;

describe('run, with an agent as a process', () => {
  let root: string;
  let backend: ScriptedBackend;
  let before: string;

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), 'run-'));
    for (const name of ['home', 'home/.codex', 'home/work', 'bin', 'tmp']) mkdirSync(join(root, name));
    writeFileSync(join(root, 'home/.codex/config.toml'), 'model = "their own"\n');
    writeFileSync(join(root, 'home/work/.env'), 'PORT=x\nDATABASE_URL=postgres://app\nAPP_SECRET=theirs\n');
    for (const [name, readSettings] of Object.entries(SETTINGS)) {
      writeFileSync(join(root, 'bin', name), writeAgent(readSettings));
      chmodSync(join(root, 'bin', name), 0o755);
    }
    before = hashFolder(join(root, 'home'));
    backend = await startScriptedBackend();
    backend.always(play(BEHAVIOURS.vllm));
  });

  afterEach(async () => {
    await backend.close();
    try {
      expect(hashFolder(join(root, 'home')), 'files of the user').to.equal(before);
      expect(readdirSync(join(root, 'tmp')), 'what is left').to.deep.equal([]);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  function start(
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    { agent = 'codex', baseUrl = backend.baseUrl } = {},
  ) {
    const own = { HOME: join(root, 'home'), TMPDIR: join(root, 'tmp'), PATH: join(root, 'bin'), ...env };
    const options = ['run', agent, '--base-url', baseUrl, '--', ...args];
    const byFile = 'UPSTREAM_API_KEY_FILE' in env;
    return spawn(process.execPath, [MAIN, ...options], {
      cwd: join(root, 'home/work'),
      env: { ...own, ...(!byFile && { UPSTREAM_API_KEY: KEY }) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  async function ended(child: ReturnType<typeof start>) {
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
    return { status: child.exitCode, stdout, stderr };
  }

  it('gives the agent its arguments and a gateway of the recognised dialect, and hands on its exit status', async () => {
    const { status, stdout, stderr } = await ended(start(['7', '--json', 'a b']));
    expect(status, stderr).to.equal(7);
    expect(stderr).to.match(
      /^codex with \S+ at http:\/\/127\.0\.0\.1:\d+\/v1, as vllm\nCodex may warn that it has no metadata .*\n$/,
    );
    const told = JSON.parse(stdout);
    expect(told.rest).to.deep.equal(['--json', 'a b']);
    expect(told.status, JSON.stringify(told.error)).to.equal('completed');
    expect(chatsOf(backend.requests).at(-1)?.messages).to.deep.equal([{ role: 'user', content: 'Hello' }]);
    expect(backend.requests.at(-1)?.headers.authorization).to.equal(`Bearer ${KEY}`);
  });

  for (const agent of ['copilot', 'cline'] as const) {
    it(`gives ${agent} its own way to the gateway, whatever the user has set for another`, async () => {
      const theirs = {
        COPILOT_PROVIDER_BEARER_TOKEN: 'theirs',
        CLINE_DIR: join(root, 'home/.cline'),
        CLINE_DATA_DIR: join(root, 'home/.cline/data'),
      };
      const { status, stdout, stderr } = await ended(start(['0'], theirs, { agent }));
      expect(status, stderr).to.equal(0);
      const told = JSON.parse(stdout);
      expect(told.status, JSON.stringify(told.error)).to.equal('completed');
      expect(JSON.stringify(told.env)).not.to.match(agent === 'copilot' ? /theirs/ : /home\/\.cline/);
    });
  }

  it('sends the backend the key that is in a file, of which the agent hears nothing', async () => {
    writeFileSync(join(root, 'key'), 'sk-of-a-file');
    const { status, stdout, stderr } = await ended(start(['0'], { UPSTREAM_API_KEY_FILE: join(root, 'key') }));
    expect(status, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.include({ status: 'completed' });
    expect(stdout).not.to.include('UPSTREAM_API_KEY');
    expect(backend.requests.at(-1)?.headers.authorization).to.equal('Bearer sk-of-a-file');
  });

  it('shows the agent neither the key of the backend nor what .env says', async () => {
    const { stdout } = await ended(start(['0']));
    expect(stdout).to.include('"HOME":');
    expect(stdout).not.to.match(new RegExp(`${KEY}|APP_SECRET|postgres:`));
  });

  it('keeps its folder where Codex makes helper programs', async () => {
    const parent = platform() === 'linux' ? '/var/tmp' : tmpdir();
    const { stdout } = await ended(start(['0'], { TMPDIR: '' }));
    const { CODEX_HOME } = JSON.parse(stdout).env;
    expect(dirname(CODEX_HOME)).to.equal(parent);
    expect(existsSync(CODEX_HOME)).to.equal(false);
  });

  it('takes a free port where PORT is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    const { status, stderr } = await ended(start(['0'], { PORT: port }));
    server.close();
    expect(status, stderr).to.equal(0);
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    it(`passes ${signal} on, and waits for the agent`, async () => {
      const child = start(['wait']);
      await begun(child);
      const rest = ended(child);
      child.kill(signal);
      expect(await rest).to.deep.include({ status: 5, stdout: `${signal}\n` });
    });
  }

  it('ends as a shell does where a signal has ended the agent', async () => {
    const { status } = await ended(start(['die']));
    expect(status).to.equal(137);
  });

  it('ends with 1 and one sentence where the backend is gone', async () => {
    const { status, stdout, stderr } = await ended(start(['0'], {}, { baseUrl: 'http://127.0.0.1:1/v1' }));
    expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' });
    expect(stderr).to.match(/^Nothing listens at 127\.0\.0\.1:1: [^\n]+\n$/);
  });
});

/** Resolves when the agent has told what it was given. */
async function begun(child: ChildProcess): Promise<void> {
  if (child.stdout === null) throw new TypeError('a pipe was asked for');
  await once(child.stdout, 'data');
}
