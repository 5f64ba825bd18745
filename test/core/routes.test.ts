import { expect } from 'chai';
import { DIALECTS } from '../../src/core/dialects.ts';
import { affinityOf, createRoutes, isOfOneKind, type RoutedBackend } from '../../src/core/routes.ts';

function backend(name: string, more: Partial<RoutedBackend> = {}): RoutedBackend {
  return {
    name,
    dialect: DIALECTS.vllm,
    upstreamDialect: 'vllm',
    modelAliases: new Map(),
    models: null,
    weight: 1,
    ...more,
  };
}

const four = ['a', 'b', 'c', 'd'].map((name) => backend(name));

describe('createRoutes', () => {
  it('sends a model to those that have it, and refuses one that nobody has', () => {
    const routes = createRoutes([
      backend('a', { models: ['x'] }),
      backend('b', { models: ['llama-*'], modelAliases: new Map([['gpt', 'llama-3']]) }),
    ]);
    expect(routes.choose('x', () => '').backends).to.deep.equal(['a']);
    expect(routes.choose('gpt', () => '').backends).to.deep.equal(['b']);
    expect(() => routes.choose('y', () => '')).to.throw('The model was not found.');
  });

  it('says which backends get the same chat request as the best one that is free', () => {
    const others = [backend('c', { upstreamDialect: 'ollama' }), backend('d', { modelAliases: new Map([['m', 'n']]) })];
    const free = new Set(['a', 'b', 'c', 'd']);
    const routes = createRoutes([backend('a'), backend('b'), ...others], (name) => free.has(name));
    for (const name of ['c', 'd']) {
      free.clear();
      free.add(name);
      const route = routes.choose('m', () => 'one');
      expect(route.alike).to.deep.equal([name]);
      expect([...route.backends].sort()).to.deep.equal(['a', 'b', 'c', 'd']);
    }
    free.clear();
    free.add('a');
    expect([...routes.choose('m', () => 'one').alike].sort()).to.deep.equal(['a', 'b']);
    expect(isOfOneKind(routes.choose('m', () => 'one'))).to.equal(false);
    expect(isOfOneKind(createRoutes([backend('a'), backend('b')]).choose('m', () => 'one'))).to.equal(true);
  });

  it('moves only the conversations of a backend that leaves', () => {
    const [, ...three] = four;
    const [before, after] = [createRoutes(four), createRoutes(three)];
    for (let index = 0; index < 500; index += 1) {
      const [first, second] = before.choose('m', () => `key ${index}`).backends;
      const [now] = after.choose('m', () => `key ${index}`).backends;
      expect(now).to.equal(first === 'a' ? second : first);
    }
  });

  it('shares conversations by weight', () => {
    const routes = createRoutes([backend('a', { weight: 3 }), backend('b')]);
    let ofA = 0;
    for (let index = 0; index < 4000; index += 1) {
      if (routes.choose('m', () => `key ${index}`).backends[0] === 'a') ofA += 1;
    }
    expect(ofA / 4000).to.be.within(0.72, 0.78);
  });
});

describe('affinityOf', () => {
  const user = { role: 'user', content: 'Hello' };
  const system = { role: 'system', content: 'Be brief.' };

  it('is that of the first turn in every later one', () => {
    const later = [system, user, { role: 'assistant', content: 'Hi' }, { role: 'user', content: 'And?' }];
    expect(affinityOf('me', { input: later })).to.equal(affinityOf('me', { input: [system, user] }));
    expect(affinityOf('me', { messages: later })).to.equal(affinityOf('me', { messages: [system, user] }));
  });

  it('is that of a text where later turns have it as a message, in either form', () => {
    const parts = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] };
    for (const first of [user, parts])
      expect(affinityOf('me', { input: [first, system] })).to.equal(affinityOf('me', { input: 'Hello' }));
  });

  it('tells callers and first messages apart, and goes by the cache key where there is one', () => {
    const told = [
      affinityOf('me', { input: [system, user] }),
      affinityOf('you', { input: [system, user] }),
      affinityOf('me', { input: [system, { ...user, content: 'Bye' }] }),
      affinityOf('me', { input: 'Hello' }),
    ];
    expect(new Set(told).size).to.equal(told.length);
    const keyed = affinityOf('me', { input: 'a', prompt_cache_key: 'k' });
    expect(affinityOf('me', { input: 'b', prompt_cache_key: 'k' })).to.equal(keyed);
    expect(affinityOf('you', { input: 'a', prompt_cache_key: 'k' })).not.to.equal(keyed);
  });
});
