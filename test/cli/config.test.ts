import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../support/cli.ts';

const SECRETS = {
  AUTH_MODE: 'static',
  UPSTREAM_BASE_URL: 'http://user-canary@backend.test/v1?key=canary',
  UPSTREAM_API_KEY: 'upstream-canary',
  API_KEYS: 'caller-canary',
  ADMIN_TOKEN: 'admin-canary-admin-canary',
  GATEWAY_SECRET: 'secret-canary-secret-canary',
  GATEWAY_SECRET_PREVIOUS: 'former-canary-former-canary',
};

describe('config', () => {
  it('shows every setting with its value and where it comes from', async () => {
    const env = { PORT: '9000', LOG_LEVEL: 'debug', HOST: '' };
    const { status, stdout } = await run('config', { env, fileNames: new Set(['LOG_LEVEL']) });
    expect(stdout).to.match(/^PORT +9000 +environment$/m);
    expect(stdout).to.match(/^LOG_LEVEL +debug +\.env$/m);
    expect(stdout).to.match(/^HOST +127\.0\.0\.1 +default$/m);
    expect(stdout).to.match(/^MODEL_ALIASES +\{\} +default$/m);
    expect(stdout).to.match(/^UPSTREAM_BASE_URL +not set$/m);
    expect(status).to.equal(0);
  });

  it('gives the same to a program', async () => {
    const { stdout } = await run('config --json', { env: { PORT: '9000' } });
    const { object, settings } = JSON.parse(stdout) as { object: string; settings: { name: string }[] };
    expect(object).to.equal('config');
    expect(settings.find(({ name }) => name === 'PORT')).to.deep.equal({
      name: 'PORT',
      value: '9000',
      source: 'environment',
      hidden: false,
    });
  });

  for (const line of ['config', 'config --json']) {
    it(`never shows a secret, nor a URL that holds one (${line})`, async () => {
      const { stdout, stderr } = await run(line, { env: SECRETS });
      expect(stdout + stderr).not.to.contain('canary');
      expect(stdout).to.match(/UPSTREAM_API_KEY/);
    });
  }

  it('marks what it hides', async () => {
    const { stdout } = await run('config', { env: SECRETS });
    expect(stdout).to.match(/^GATEWAY_SECRET +\(hidden\) +environment$/m);
  });

  it('says which values come from files, and check says what a start would warn of', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'config-'));
    const path = join(folder, 'secret');
    writeFileSync(path, 'a long enough canary\n');
    const env = { GATEWAY_SECRET_FILE: path, FAILOVER: 'any', PORTT: '1' };
    const { stdout, stderr } = await run('config', { env });
    expect(stdout).to.match(/^GATEWAY_SECRET +\(hidden\) +GATEWAY_SECRET_FILE$/m);
    expect(stderr).to.match(/^PORTT: is not a setting; did you mean PORT\?\nFAILOVER: /);
    expect((await run('config check', { env })).stdout).to.equal(
      'PORTT: is not a setting; did you mean PORT?\n' +
        'FAILOVER: is no longer a setting; set "failover" in BACKENDS_FILE; the default is safe\n' +
        'A start ignores 2 names above. All other settings are valid.\n',
    );
    rmSync(folder, { recursive: true });
  });

  it('ends with 78 when the gateway would not start, and shows the settings all the same', async () => {
    const { status, stdout, stderr } = await run('config', { env: { PORT: 'x' } });
    expect(stdout).to.match(/^PORT +x +environment$/m);
    expect(stderr).to.match(/^PORT: must be a whole number/);
    expect(status).to.equal(78);
  });

  it('paints on a terminal alone, and not for those who refuse colours', async () => {
    const isTTY = true;
    const escape = '\u{1b}[';
    expect((await run('config', { isTTY })).stdout).to.contain(escape);
    expect((await run('config', { isTTY: false })).stdout).not.to.contain(escape);
    expect((await run('config --no-color', { isTTY })).stdout).not.to.contain(escape);
    expect((await run('config', { isTTY, env: { NO_COLOR: '1' } })).stdout).not.to.contain(escape);
    expect((await run('config --json', { isTTY })).stdout).not.to.contain(escape);
  });
});
