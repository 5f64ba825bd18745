import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { SNIPPETS } from '../../src/console/snippets.js';
import type { CreateResponse } from '../../src/contract/types.ts';
import { SPECIAL } from './model-words.ts';
import { useGateway } from './scene.ts';
import { API_KEY } from './strict-backend.ts';

const run = promisify(execFile);
const ENV = { ...process.env, GATEWAY_API_KEY: API_KEY };

const REQUEST: CreateResponse = {
  model: 'test-model',
  input: SPECIAL,
  instructions: 'Be brief.',
  tools: [
    {
      type: 'function',
      name: 'get_weather',
      description: 'The weather of a city.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  ],
  max_output_tokens: 100,
  reasoning: { effort: 'low' },
};

/** The one for Python is not run, since these clients come from npm. */
const RUN = new Set(['openai-js', 'openai-ws', 'ai-sdk']);

describe('the code that the console shows', () => {
  const scene = useGateway();

  for (const { id, label, write } of SNIPPETS.filter(({ id }) => RUN.has(id))) {
    for (const stream of [true, false]) {
      it(`makes the request with ${label}${stream ? ', streamed' : ''}`, async () => {
        scene.backend.plays({ text: SPECIAL });
        const code = write({ ...REQUEST, ...(stream && { stream }) }, scene.baseUrl);
        const args = ['--input-type=module-typescript', '--eval', code];
        const { stdout, stderr } = await run(process.execPath, args, { cwd: import.meta.dirname, env: ENV });
        expect(stdout.trimEnd(), id).to.equal(SPECIAL);
        expect(stderr).to.equal('');
        const [body] = scene.backend.bodies;
        expect(body?.messages.map(({ content }) => content)).to.deep.equal(['Be brief.', SPECIAL]);
        expect(body).to.deep.include({ model: 'test-model', max_tokens: 100, reasoning_effort: 'low' });
        expect(JSON.stringify(body)).to.include('get_weather').and.to.include('"required":["city"]');
      });
    }
  }
});
