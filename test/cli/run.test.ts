import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../support/cli.ts';
import { useRealSockets } from '../support/real-sockets.ts';

describe('run', () => {
  useRealSockets();

  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'run-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function installCodex(): void {
    writeFileSync(join(folder, 'codex'), 'must not be started');
    chmodSync(join(folder, 'codex'), 0o755);
  }

  for (const { name, install } of [
    { name: 'codex', install: '@openai/codex' },
    { name: 'opencode', install: 'opencode-ai' },
    { name: 'pi', install: '@mariozechner/pi-coding-agent' },
    { name: 'copilot', install: '@github/copilot' },
    { name: 'cline', install: 'cline' },
  ]) {
    it(`names the command that installs a missing agent: ${name}`, async () => {
      mkdirSync(join(folder, name));
      const { status, stderr } = await run(`run ${name}`, { env: { PATH: `:${folder}:/nowhere` } });
      expect(stderr).to.equal(`${name} is not installed: run \`npm install -g ${install}\`.\n`);
      expect(status).to.equal(1);
    });
  }

  it('says in one sentence that no backend answers', async () => {
    installCodex();
    const { status, stderr } = await run('run codex --base-url http://127.0.0.1:9/v1', { env: { PATH: folder } });
    expect(stderr).to.match(/^Nothing listens at 127\.0\.0\.1:9: [^\n]+\n$/);
    expect(status).to.equal(1);
  });

  it('ends with 2 at a wrong address of the backend', async () => {
    installCodex();
    const { status, stderr } = await run('run codex --base-url 127.0.0.1:9', { env: { PATH: folder } });
    expect(stderr).to.match(/^--base-url: must be a URL/);
    expect(status).to.equal(2);
  });

  it('says that it was interrupted', async () => {
    installCodex();
    const { status, stderr } = await run('run codex', { env: { PATH: folder }, interruption: AbortSignal.abort() });
    expect({ status, stderr }).to.deep.equal({ status: 1, stderr: 'Interrupted.\n' });
  });
});
