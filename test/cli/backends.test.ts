import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { run } from '../support/cli.ts';
import { BEHAVIOURS, play } from '../support/dialect-backends.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const ADMIN_TOKEN = 'admin-token-canary-1';

describe('backends of the file, on the command line', () => {
  useRealSockets();

  let folder: string;
  let file: string;
  let a: ScriptedBackend;
  let b: ScriptedBackend;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'backends-cli-'));
    file = join(folder, 'backends.json');
    [a, b] = [await startScriptedBackend(), await startScriptedBackend()];
    const backends = [
      { name: 'a', base_url: a.baseUrl, dialect: 'vllm', models: ['m'] },
      { name: 'b', base_url: b.baseUrl, dialect: 'llamacpp', models: ['n'] },
    ];
    writeFileSync(file, JSON.stringify({ backends }));
  });
  afterEach(async () => {
    await Promise.all([a.close(), b.close()]);
    rmSync(folder, { recursive: true, force: true });
  });

  describe('backends', () => {
    let gateway: TestGateway;

    beforeEach(async () => {
      const nowMs = Date.now();
      // By a clock that stands still, a backend that rests is not back before it is looked at.
      gateway = await openGateway(
        { BACKENDS_FILE: file, AUTH_MODE: 'static', API_KEYS: 'key', ADMIN_TOKEN },
        { nowMs: () => nowMs },
      );
    });
    afterEach(() => gateway.close());

    it('shows what the running gateway has seen of each', async () => {
      a.always(answer('Hello'));
      b.always({ status: 503, json: { error: { message: 'not now' } } });
      for (const model of ['m', 'n', 'n', 'n']) {
        const headers = { authorization: 'Bearer key', 'content-type': 'application/json' };
        const body = JSON.stringify({ model, input: 'Hello' });
        await (await fetch(`${gateway.url}/v1/responses`, { method: 'POST', headers, body })).text();
      }
      const env = { ADMIN_TOKEN, PUBLIC_BASE_URL: gateway.url };
      const { status, stdout } = await run('backends', { env });
      const [head, first, second] = stdout.split('\n');
      expect(head).to.match(/^NAME +STATE +RESTS FOR +WHY +RUNNING +WAITING +ANSWERED +FAILED +RESTS +MODELS$/);
      expect(first?.split(/ +/)).to.deep.equal(['a', 'up', '0', '0', '1', '0', '0', 'm']);
      expect(second).to.match(/^b +resting +[\d.]+ m?s +upstream_error +0 +0 +0 +3 +1 +n$/);
      expect(status).to.equal(0);
      const { stdout: json } = await run(['backends', '--json', '--url', gateway.url], { env: { ADMIN_TOKEN } });
      expect(JSON.parse(json)).to.have.nested.property('data[1].reason', 'upstream_error');
    });

    it('says why it cannot', async () => {
      const fails = async (env: Readonly<Record<string, string>>) => (await run('backends', { env })).stderr;
      expect(await fails({})).to.match(/^ADMIN_TOKEN: must be set/);
      expect(await run('backends')).to.include({ status: 78 });
      const wrong = { ADMIN_TOKEN: 'another-token-canary', PUBLIC_BASE_URL: gateway.url };
      expect(await fails(wrong)).to.match(/a different ADMIN_TOKEN/);
      expect(await fails({ ADMIN_TOKEN, PUBLIC_BASE_URL: 'http://127.0.0.1:1' })).to.match(/No gateway answers/);
      expect(await fails({ ADMIN_TOKEN, PUBLIC_BASE_URL: a.baseUrl })).to.match(/No gateway with an admin API/);
    });
  });

  describe('doctor', () => {
    beforeEach(() => {
      a.always(play(BEHAVIOURS.vllm));
      b.always(play(BEHAVIOURS.llamacpp));
    });

    it('examines each backend of the file with its own dialect and model', async () => {
      const { stdout } = await run('doctor', { env: { BACKENDS_FILE: file } });
      expect(stdout).to.contain(`a, ${a.baseUrl}:`).and.to.contain(`b, ${b.baseUrl}:`);
      expect(stdout).not.to.contain('UPSTREAM_');
    });

    it('gives one document of all of them to a program', async () => {
      const { stdout } = await run('doctor --json', { env: { BACKENDS_FILE: file } });
      const { object, data } = JSON.parse(stdout) as { object: string; data: readonly { backend: string }[] };
      expect([object, data.map(({ backend }) => backend)]).to.deep.equal(['list', ['a', 'b']]);
    });

    it('examines one of them by its name', async () => {
      const { stdout } = await run('doctor --backend b --json', { env: { BACKENDS_FILE: file } });
      const report = JSON.parse(stdout);
      expect(report).to.deep.include({ backend: 'b', base_url: b.baseUrl, model: 'n' });
      expect(report.dialect).to.include({ set: 'llamacpp', suggested: 'llamacpp' });
      expect(a.requests.length).to.equal(0);
      const { stderr } = await run('doctor --backend c', { env: { BACKENDS_FILE: file } });
      expect(stderr).to.contain('BACKENDS_FILE has no backend named c.');
    });
  });
});
