import { expect } from 'chai';
import { AGENTS } from '../../../src/cli/run/agents.ts';

const FOLDER = '/a/folder';
const MODEL = 'qwen3 "32b"';
const gateway = { baseUrl: 'http://127.0.0.1:4711/api/v1', model: MODEL };

describe('the agents of run', () => {
  for (const [name, { configure }] of AGENTS) {
    it(`configures ${name} with the model, the address and the name of the variable of the key`, () => {
      const { files, env } = configure(gateway, FOLDER);
      const all = [...Object.values(files), ...Object.values(env)].join('\n');
      for (const part of [gateway.baseUrl, JSON.stringify(MODEL), 'GATEWAY_API_KEY']) expect(all).to.include(part);
      expect(Object.values(env)).to.include(FOLDER);
    });
  }
});
