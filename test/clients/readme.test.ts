import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { SPECIAL } from './model-words.ts';
import { readSnippets } from './readme.ts';
import { useGateway } from './scene.ts';
import { API_KEY } from './strict-backend.ts';

const run = promisify(execFile);
const ENV = { ...process.env, GATEWAY_API_KEY: API_KEY };

/** The one for Codex is what its own tests use. */
describe('each example of README and the guides', () => {
  const scene = useGateway();

  for (const client of ['OpenAI SDK', 'OpenAI Agents SDK', 'AI SDK', 'LangChain', 'WebSocket']) {
    it(`gets an answer: ${client}`, async () => {
      for (const code of readSnippets(client, 'ts', scene.baseUrl)) {
        scene.backend.plays({ text: SPECIAL });
        const args = ['--input-type=module-typescript', '--eval', code];
        const { stdout } = await run(process.execPath, args, { cwd: import.meta.dirname, env: ENV });
        expect(stdout).to.equal(`${SPECIAL}\n`);
      }
    });
  }
});
