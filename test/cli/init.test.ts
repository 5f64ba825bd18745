import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { expect } from 'chai';
import { NOT_CLEAR } from '../support/doctor-question.ts';
import { toFiles } from '../../src/cli/init.ts';
import { toReport, type Report } from '../../src/cli/doctor-report.ts';
import { readConfig } from '../../src/config/config.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { run } from '../support/cli.ts';
import { BEHAVIOURS, play } from '../support/dialect-backends.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const KEY = 'sk-0123456789abcdef';
const BASE_URL = 'http://127.0.0.1:8000/v1';

function reportOf(
  found: { readonly model?: string; readonly checksKeys?: 'yes' | 'no'; readonly own?: boolean } = {},
): Report {
  const { model = 'qwen3', checksKeys = 'no', own = false } = found;
  return toReport(
    { config: readConfig({}), baseUrl: BASE_URL, isDemo: false, name: null },
    {
      model,
      findings: [],
      isFine: true,
      checksKeys,
      seen: NOT_CLEAR,
      oddities: [],
      choice: { dialect: 'vllm', reason: '', equivalents: [], differences: own ? { systemRole: 'system' } : {} },
    },
  );
}

const envOf = (...args: Parameters<typeof toFiles>) => parseEnv(toFiles(...args).at(-1)?.content ?? '');

describe('the files of init', () => {
  it('have settings that a start takes, with what each means', () => {
    const [file, ...others] = toFiles(reportOf({ model: 'a b#"c' }), { UPSTREAM_API_KEY: 'sk-backend' }, KEY);
    expect(others).to.deep.equal([]);
    expect(file?.content).to.match(/\n\n# The base URL of the chat completions backend.*\nUPSTREAM_BASE_URL=/s);
    expect(file?.content.split('\n').filter((line) => line.length > 100)).to.deep.equal([]);
    expect(readConfig(parseEnv(file?.content ?? ''))).to.deep.include({
      upstreamBaseUrl: BASE_URL,
      upstreamDialect: 'vllm',
      defaultModelId: 'a b#"c',
      authMode: 'static',
      apiKeys: [KEY],
      upstreamApiKey: 'sk-backend',
    });
  });

  it('have no key where the backend checks those of callers', () => {
    const env = envOf(reportOf({ checksKeys: 'yes' }), { UPSTREAM_API_KEY: 'sk-backend' }, KEY);
    expect(env).to.include({ AUTH_MODE: 'passthrough' });
    expect(env).not.to.have.any.keys('API_KEYS', 'UPSTREAM_API_KEY');
  });

  it('have the dialect of a backend that is like no other', () => {
    const [dialects] = toFiles(reportOf({ own: true }), {}, KEY);
    expect(dialects?.name).to.equal('dialects.json');
    expect(JSON.parse(dialects?.content ?? '')).to.deep.equal({
      'my-backend': { extends: 'vllm', systemRole: 'system' },
    });
    expect(envOf(reportOf({ own: true }), {}, KEY)).to.include({ DIALECTS_FILE: './dialects.json' });
  });

  for (const model of ["it's", 'a\nAPI_KEYS=sk-stranger']) {
    it(`refuse a name of a model that would not stay a value: ${JSON.stringify(model)}`, () => {
      expect(() => toFiles(reportOf({ model }), {}, KEY)).to.throw(/^DEFAULT_MODEL_ID cannot be written/);
    });
  }
});

describe('init', () => {
  const before = process.cwd();
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'init-'));
    process.chdir(folder);
  });
  afterEach(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });

  describe('of a backend that takes any key', () => {
    useRealSockets();

    let backend: ScriptedBackend;

    beforeEach(async () => {
      backend = await startScriptedBackend();
      const script = play(BEHAVIOURS.vllm);
      backend.always((exchange) => {
        delete exchange.request.headers.authorization;
        return script(exchange);
      });
    });
    afterEach(() => backend.close());

    it('prints a first request with the new key, which is in .env too', async () => {
      const { status, stdout, stderr } = await run(['init', '--base-url', backend.baseUrl]);
      expect(status, stderr).to.equal(0);
      const key = /^API_KEYS=(.*)$/m.exec(readFileSync('.env', 'utf8'))?.[1];
      expect(stdout).to.include('Start the gateway with `npm start`.\n');
      expect(stdout).to.match(/^ {2}curl http:\/\/127\.0\.0\.1:8080\/api\/v1\/responses -H /m);
      expect(stdout).to.include(`  export GATEWAY_API_KEY=${key}\n`);
    });

    it('leaves the key of the backend in its file', async () => {
      writeFileSync('key', 'sk-backend');
      const env = { UPSTREAM_API_KEY_FILE: join(folder, 'key') };
      expect(await run(['init', '--base-url', backend.baseUrl], { env })).to.include({ status: 0 });
      const written = readFileSync('.env', 'utf8');
      expect(written).to.include(`\nUPSTREAM_API_KEY_FILE=${env.UPSTREAM_API_KEY_FILE}\n`);
      expect(written).not.to.include('sk-backend');
    });
  });

  it('ends with 2 where there is neither an address nor a terminal', async () => {
    const { status, stderr } = await run('init');
    expect(stderr).to.match(/without a terminal, option '--base-url <url>' is needed/);
    expect(status).to.equal(2);
  });

  it('asks for the address on a terminal', async () => {
    const asked: string[] = [];
    const ask = (question: string): Promise<string> => {
      asked.push(question);
      return Promise.resolve('nonsense');
    };
    const { status, stderr } = await run('init', { ask });
    expect(asked).to.deep.equal(['Base URL of the backend, with its /v1: ']);
    expect(stderr).to.match(/^--base-url: must be a URL/);
    expect(status).to.equal(2);
  });
});
