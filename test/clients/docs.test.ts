import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { blocksRunAs } from '../docs/blocks.ts';
import { SPECIAL } from './model-words.ts';
import { useGateway } from './scene.ts';
import { API_KEY } from './strict-backend.ts';

const run = promisify(execFile);
const ENV = { ...process.env, GATEWAY_API_KEY: API_KEY };

/** The one for Codex is what its own tests use. */
describe('each example of a client in README and the guides', () => {
  const scene = useGateway();

  for (const { path, line, section, code } of blocksRunAs('client')) {
    it(`gets an answer: ${section} (${path}:${line})`, async () => {
      scene.backend.plays({ text: SPECIAL });
      const own = code.replace('http://127.0.0.1:8080/api/v1', scene.baseUrl);
      const args = ['--input-type=module-typescript', '--eval', own];
      const { stdout } = await run(process.execPath, args, { cwd: import.meta.dirname, env: ENV });
      expect(stdout).to.equal(`${SPECIAL}\n`);
    });
  }
});
