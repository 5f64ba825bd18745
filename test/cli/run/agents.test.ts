import { expect } from 'chai';
import { AGENTS } from '../../../src/cli/run/agents.ts';

const FOLDER = '/a/folder';
const MODEL = 'qwen3 "32b"';
const gateway = { baseUrl: 'http://127.0.0.1:4711/api/v1', model: MODEL, key: 'key-of-this-run' };

describe('the agents of run', () => {
  for (const [name, { configure }] of AGENTS) {
    it(`configures ${name} with the model, the address and the key, or the name of its variable`, () => {
      const { files, env } = configure(gateway, FOLDER);
      const all = [...Object.values(files), ...Object.values(env)].join('\n');
      expect(all).to.include(gateway.baseUrl);
      expect(
        [JSON.stringify(MODEL), MODEL].some((model) => all.includes(model)),
        'the model',
      ).to.equal(true);
      expect(all).to.match(/GATEWAY_API_KEY|key-of-this-run/);
      expect(Object.values(env)).to.include(FOLDER);
    });
  }
});
