import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { run, type CliRun } from '../support/cli.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const KEY = 'sk-of-the-environment';
/** A name that nobody can have (RFC 2606), so that nothing is sent even if the command tries. */
const URL_OF_FOLDER = 'http://backend.invalid/v1';
const REFUSED = `${resolve('.env')} names the backend ${URL_OF_FOLDER}, and the key is not from that file. Nothing was sent. If the key is for this backend, name it with --base-url.\n`;
const TRIED = /^The host name backend\.invalid could not be resolved/;

describe('a backend that .env names', () => {
  useRealSockets();

  const fileNames = new Set(['UPSTREAM_BASE_URL']);
  const env = { UPSTREAM_BASE_URL: URL_OF_FOLDER, UPSTREAM_API_KEY: KEY };
  const doctor = (options: CliRun) => run('doctor --timeout 2s', options);

  it('does not get a key of the environment where nobody can be asked', async () => {
    const { status, stderr } = await doctor({ env, fileNames });
    expect({ status, stderr }).to.deep.equal({ status: 1, stderr: REFUSED });
  });

  for (const answer of ['', 'n', 'maybe']) {
    it(`does not get it where a person answers "${answer}"`, async () => {
      const { stderr } = await doctor({ env, fileNames, ask: async () => answer });
      expect(stderr).to.equal(REFUSED);
    });
  }

  it('gets it where a person agrees, who is told of the file first', async () => {
    const questions: string[] = [];
    const ask = async (question: string): Promise<string> => {
      questions.push(question);
      return 'y';
    };
    const { stderr } = await doctor({ env, fileNames, ask, isTTY: true });
    expect(stderr.startsWith(`UPSTREAM_BASE_URL comes from ${resolve('.env')}.\n`), stderr).to.equal(true);
    expect(questions).to.deep.equal([`Send your key, which is not from this file, to ${URL_OF_FOLDER}? [y/N] `]);
    expect(stderr).not.to.include('Nothing was sent').and.not.to.include(KEY);
  });

  for (const { name, line, options } of [
    {
      name: 'that comes from the same file',
      options: { fileNames: new Set(['UPSTREAM_BASE_URL', 'UPSTREAM_API_KEY']) },
    },
    {
      name: 'where an option names it',
      line: `doctor --timeout 2s --base-url ${URL_OF_FOLDER}`,
      options: { fileNames },
    },
    { name: 'where the environment names it', options: {} },
  ]) {
    it(`gets a key ${name}`, async () => {
      const { status, stderr } = await run(line ?? 'doctor --timeout 2s', { env, ...options });
      expect(status).to.equal(1);
      expect(stderr).to.match(TRIED);
    });
  }

  it('does not get a key from a file that the same .env names, which may be any file of the user', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'target-'));
    const file = join(folder, 'key');
    writeFileSync(file, KEY);
    const named = { UPSTREAM_BASE_URL: URL_OF_FOLDER, UPSTREAM_API_KEY_FILE: file };
    const { stderr } = await doctor({ env: named, fileNames: new Set(Object.keys(named)) });
    rmSync(folder, { recursive: true });
    expect(stderr).to.equal(REFUSED);
  });

  it('is asked without a key, and on this machine with any', async () => {
    expect((await doctor({ env: { ...env, UPSTREAM_API_KEY: '' }, fileNames })).stderr).to.match(TRIED);
    const local = { ...env, UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1' };
    expect((await doctor({ env: local, fileNames })).stderr).to.match(/^Nothing listens at 127\.0\.0\.1:9/);
  });

  describe('in BACKENDS_FILE', () => {
    let folder: string;

    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'target-'));
    });
    afterEach(() => rmSync(folder, { recursive: true }));

    it('does not get a variable of the environment that the file of a stranger names', async () => {
      const file = join(folder, 'backends.json');
      const backend = { name: 'a', base_url: URL_OF_FOLDER, api_key_env: 'OTHER_KEY' };
      writeFileSync(file, JSON.stringify({ backends: [backend] }));
      const settings = { BACKENDS_FILE: file, AUTH_MODE: 'static', API_KEYS: 'k'.repeat(32), OTHER_KEY: KEY };
      const { stderr } = await doctor({
        env: settings,
        fileNames: new Set(['BACKENDS_FILE', 'AUTH_MODE', 'API_KEYS']),
      });
      expect(stderr).to.equal(REFUSED);
    });
  });
});
