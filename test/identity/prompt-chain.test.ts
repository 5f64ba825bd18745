import { expect } from 'chai';
import { serialize } from 'node:v8';
import { readPrompt, toPromptKey, type PromptChain } from '../../src/identity/prompt-chain.ts';

const KEY = toPromptKey('a secret', 'a caller', new Uint8Array());
const MESSAGES = Array.from({ length: 400 }, (_, at) => ({
  role: at % 2 === 0 ? 'user' : 'assistant',
  content: `Canary ${at}`,
}));

function read(messages: readonly object[], { key = KEY, before = [] as readonly PromptChain[], space = 0 } = {}) {
  const body = { model: 'm', messages, tools: [{ type: 'function', function: { name: 'canary' } }] };
  return readPrompt(Buffer.from(JSON.stringify(body, null, space)), { key, list: 'messages', before });
}

describe('the chain of a prompt', () => {
  it('holds no word of the prompt, and takes less than a kilobyte however long that is', () => {
    const bytes = serialize(read(MESSAGES).chain);
    expect(bytes.toString('latin1').toLowerCase()).not.to.contain('canary');
    expect(bytes.length).to.be.lessThan(1024);
  });

  it('differs with the secret, the caller and the conversation, so that nobody can try out prompts', () => {
    const keys = [
      KEY,
      toPromptKey('another secret', 'a caller', new Uint8Array()),
      toPromptKey('a secret', 'another caller', new Uint8Array()),
      toPromptKey('a secret', 'a caller', new Uint8Array([1])),
    ];
    const chains = keys.map((key) => read(MESSAGES, { key }).chain);
    for (const part of ['tools', 'messages', 'opening', 'tags', 'others'] as const)
      expect(new Set(chains.map((chain) => chain[part])).size, part).to.equal(keys.length);
  });

  for (const space of [0, 2]) {
    it(`is made of a chain and what is new as it is of the whole, in JSON with ${space} spaces`, () => {
      for (const known of [1, 2, 199, 200, 201, 399]) {
        const before = [read(MESSAGES.slice(0, known), { space }).chain];
        const { chain, index, difference } = read(MESSAGES, { before, space });
        expect({ chain, index, difference }).to.deep.equal({
          ...read(MESSAGES, { space }),
          index: 0,
          difference: undefined,
        });
      }
    });
  }

  it('reads anything, also what is no JSON', () => {
    for (const text of [
      '',
      '{',
      '[]',
      '{"messages":',
      '{"messages":[',
      '{"messages":[{}',
      '{"messages":"text"}',
      'null',
    ]) {
      const { index } = readPrompt(Buffer.from(text), { key: KEY, list: 'messages', before: [read(MESSAGES).chain] });
      expect(index, text).to.equal(-1);
    }
  });
});
