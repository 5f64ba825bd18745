import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { startScriptedBackend, type ScriptedBackend } from './support/backend.ts';
import { createTestDatabase, findPostgres } from './support/postgres.ts';
import { until } from './support/time.ts';

const MAIN = join(import.meta.dirname, '../src/main.ts');
const CRASH_ON_USR2 = `data:text/javascript,process.on('SIGUSR2', () => { throw new RangeError('canary'); });`;
const REJECT_ON_USR2 = `data:text/javascript,process.on('SIGUSR2', () => { Promise.reject(new RangeError('canary')); });`;

/** Its clock stands still, but for the moment that it lets pass at SIGUSR2, and says so. */
const HOLD_CLOCK = `data:text/javascript,
  let now = performance.now();
  performance.now = () => now;
  process.on('SIGUSR2', () => { now += 1000; console.log('a moment has passed'); });`;

const COMPLETION = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }],
};

const server = await findPostgres();

type Process = ChildProcessByStdio<null, Readable, Readable>;

describe('main', () => {
  let backend: ScriptedBackend;
  let taken: Server;
  let gateway: Process | undefined;
  /** Resolves when the backend has a request; the request is answered after `letGo`. */
  let asked: PromiseWithResolvers<void>;
  let letGo: PromiseWithResolvers<void>;

  beforeEach(async () => {
    asked = Promise.withResolvers();
    letGo = Promise.withResolvers();
    backend = await startScriptedBackend();
    backend.always(async ({ request, start, end }) => {
      if (request.path.endsWith('/chat/completions')) {
        asked.resolve();
        await letGo.promise;
      }
      start(200, { 'content-type': 'application/json' });
      end(JSON.stringify(COMPLETION));
    });
    taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
  });

  afterEach(async () => {
    gateway?.kill('SIGKILL');
    letGo.resolve();
    await backend.close();
    taken.close();
  });

  it('ends with 78 and every mistake in the settings, each on a line of stderr', async () => {
    const { stderr, exitCode } = await runToEnd({ PORT: 'x', LOG_LEVEL: 'y' });
    expect(stderr.trimEnd().split('\n')).to.have.lengthOf(2);
    expect(stderr).to.match(/^PORT: must .*\nLOG_LEVEL: must /);
    expect(exitCode).to.equal(78);
  });

  it('ends with 1 and one line when the port is taken', async () => {
    const address = taken.address();
    if (address === null || typeof address === 'string') throw new Error('the server has no port');
    const { stderr, exitCode } = await runToEnd({ PORT: String(address.port) });
    expect(stderr).to.match(/^[^\n]*EADDRINUSE[^\n]*\n$/);
    expect(exitCode).to.equal(1);
  });

  for (const { engine, workers } of [
    { engine: 'SQLite', workers: '1' },
    { engine: 'SQLite', workers: '2' },
    ...(server === undefined ? [] : ['1', '2'].map((workers) => ({ engine: 'PostgreSQL', workers }))),
  ]) {
    it(`ends with 78 and one line beside a gateway with another secret, on ${engine} with WORKERS=${workers}`, async () => {
      const { databaseUrl, remove } = await makeDatabase(engine);
      const env = { DATABASE_URL: databaseUrl, GATEWAY_SECRET: 'the first secret' };
      const url = await start(undefined, env);
      const first = runningGateway();
      try {
        const { stderr, exitCode } = await runToEnd({ ...env, GATEWAY_SECRET: 'canary of a secret', WORKERS: workers });
        expect(stderr).to.match(/^GATEWAY_SECRET: is not the secret by which the database [^\n]+ what is lost\n$/);
        expect(stderr).not.to.contain('canary');
        expect(exitCode).to.equal(78);
        expect(await (await fetch(`${url}/readyz`)).json()).to.deep.include({ status: 'ready' });
      } finally {
        first.kill('SIGKILL');
        await remove();
      }
    });
  }

  it('warns of a backend that takes any key, since callers are told apart by their keys', async () => {
    letGo.resolve();
    gateway = spawnMain({ UPSTREAM_BASE_URL: backend.baseUrl });
    let printed = '';
    for await (const piece of gateway.stdout) {
      printed += String(piece);
      if (printed.includes('Warning')) break;
    }
    expect(printed).to.match(/Warning: The backend listed its models for a made-up key\./);
    expect(backend.requests.map(({ path }) => path)).to.deep.equal(['/v1/models']);
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`ends with 0 at ${signal} when nothing runs`, async () => {
      await start();
      expect(await exitAfter(signal)).to.equal(0);
    });

    it(`lets a running request end at ${signal}, and ends with 0`, async () => {
      const url = await start();
      const reply = create(url);
      await asked.promise;
      gateway?.kill(signal);
      await stopsTaking(url);
      letGo.resolve();
      expect(await reply).to.include({ status: 200, text: 'Done.' });
      expect(await exited()).to.equal(0);
    });
  }

  for (const { signal, exitCode } of [
    { signal: 'SIGTERM', exitCode: 143 },
    { signal: 'SIGINT', exitCode: 130 },
  ] as const) {
    it(`ends with ${exitCode} at a second ${signal}, whatever runs`, async () => {
      const url = await start(HOLD_CLOCK);
      const reply = create(url);
      await asked.promise;
      gateway?.kill(signal);
      await stopsTaking(url);
      gateway?.kill('SIGUSR2');
      await printedLine(/a moment has passed/);
      expect(await exitAfter(signal)).to.equal(exitCode);
      expect(await reply).to.include({ status: 0 });
    });
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`takes the copy of a ${signal} to its group which npm passes on for the same signal`, async () => {
      const url = await start(HOLD_CLOCK);
      const reply = create(url);
      await asked.promise;
      gateway?.kill(signal);
      await stopsTaking(url);
      gateway?.kill(signal);
      // It is heard before what is asked later.
      for (let times = 0; times < 2; times += 1) expect((await fetch(`${url}/healthz`)).status).to.equal(200);
      letGo.resolve();
      expect(await reply).to.include({ status: 200 });
      expect(await exited()).to.equal(0);
    });
  }

  it('goes on at SIGHUP where there is nothing to be read again', async () => {
    const url = await start();
    gateway?.kill('SIGHUP');
    const reply = create(url);
    await asked.promise;
    letGo.resolve();
    expect(await reply).to.include({ status: 200, text: 'Done.' });
    expect(await exitAfter('SIGTERM')).to.equal(0);
  });

  it('reads PRICES_FILE again at SIGHUP', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'prices-'));
    try {
      const path = join(folder, 'prices.json');
      writeFileSync(path, '{"currency": "USD", "models": {"m": {"input": "1", "output": "1"}}}');
      await start(undefined, { PRICES_FILE: path, LOG_LEVEL: 'info' });
      writeFileSync(path, '{"currency": "USD", "models": {"m": {"input": 1, "output": "1"}}}');
      gateway?.kill('SIGHUP');
      expect(await printedLine(/PRICES_FILE/)).to.match(/must be in quotes.*PRICES_FILE has mistakes/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  for (const { what, preload } of [
    { what: 'a throw which nobody caught', preload: CRASH_ON_USR2 },
    { what: 'a rejection which nobody caught', preload: REJECT_ON_USR2 },
  ]) {
    it(`ends with 1 after ${what}, with one fatal line that does not hold its message`, async () => {
      const url = await start(preload);
      const stderr = text(runningGateway().stderr);
      const reply = create(url);
      await asked.promise;
      expect(await exitAfter('SIGUSR2')).to.equal(1);
      expect(await reply).not.to.include({ status: 200 });
      expect(JSON.parse(await stderr))
        .to.have.property('msg')
        .that.matches(/^crash: RangeError at /);
      expect(await stderr).not.to.contain('canary');
    });
  }

  /** Starts it, and returns the URL which its banner names. */
  async function start(preload?: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    gateway = spawnMain({ UPSTREAM_BASE_URL: backend.baseUrl, ...env }, preload);
    let banner = '';
    for await (const piece of gateway.stdout.iterator({ destroyOnReturn: false })) {
      banner += String(piece);
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(banner)?.[0];
      if (url !== undefined) return url;
    }
    throw new Error('it ended without a banner');
  }

  /** The next such line on stdout. */
  async function printedLine(about: RegExp): Promise<string> {
    for await (const line of createInterface(runningGateway().stdout)) if (about.test(line)) return line;
    throw new Error('it ended without saying so');
  }

  async function runToEnd(env: Readonly<Record<string, string>>): Promise<{ stderr: string; exitCode: unknown }> {
    gateway = spawnMain({ UPSTREAM_BASE_URL: backend.baseUrl, ...env });
    const [stderr, [exitCode]] = await Promise.all([text(gateway.stderr), once(gateway, 'exit')]);
    return { stderr, exitCode };
  }

  function exitAfter(signal: NodeJS.Signals): Promise<unknown> {
    gateway?.kill(signal);
    return exited();
  }

  async function exited(): Promise<unknown> {
    const process = runningGateway();
    if (process.exitCode === null && process.signalCode === null) await once(process, 'exit');
    return process.exitCode ?? process.signalCode;
  }

  function runningGateway(): Process {
    if (gateway === undefined) throw new Error('nothing was started');
    return gateway;
  }
});

async function makeDatabase(engine: string): Promise<{ databaseUrl: string; remove: () => Promise<void> }> {
  if (engine === 'PostgreSQL') {
    const database = await createTestDatabase(server ?? '');
    return { databaseUrl: database.url, remove: () => database.drop() };
  }
  const folder = mkdtempSync(join(tmpdir(), 'main-'));
  return {
    databaseUrl: `file:${folder}/gateway.db`,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

function spawnMain(env: Readonly<Record<string, string>>, preload = 'data:text/javascript,'): Process {
  return spawn(process.execPath, ['--import', preload, MAIN], {
    env: { PORT: '0', DATABASE_URL: ':memory:', LOG_LEVEL: 'silent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** What became of a create: status 0 when the connection broke. */
async function create(url: string): Promise<{ status: number; text?: unknown }> {
  try {
    const reply = await fetch(`${url}/api/v1/responses`, {
      method: 'POST',
      headers: { authorization: 'Bearer test-key', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', input: 'Hello' }),
    });
    const body = (await reply.json()) as { output_text?: unknown };
    return { status: reply.status, text: body.output_text };
  } catch {
    return { status: 0 };
  }
}

/** Resolves as soon as the gateway says that it takes nothing new, which shows that the signal has arrived. */
async function stopsTaking(url: string): Promise<void> {
  await until(async () => !(await fetch(`${url}/readyz`)).ok);
}
