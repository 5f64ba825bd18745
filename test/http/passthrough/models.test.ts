import { expect } from 'chai';
import { listWithAliases, namedModel } from '../../../src/http/passthrough/models.ts';

const ALIASES = new Map([
  ['gpt-5', 'llama-3.3-70b'],
  ['größe', 'qwen "max"'],
]);

describe('listWithAliases', () => {
  const ALL = () => true;

  it('leaves out what is not offered by either name', () => {
    const list = { data: [{ id: 'a' }, { id: 'b' }, { id: 'c' }, { name: 'd' }, null] };
    const aliases = new Map([
      ['first', 'a'],
      ['third', 'c'],
    ]);
    const offers = (name: string, backendModel: string): boolean => name === 'b' || backendModel === 'c';
    expect(listWithAliases(list, aliases, offers)).to.deep.equal({
      data: [{ id: 'b' }, { id: 'c' }, { id: 'third' }],
    });
  });

  it('puts an alias beside the model it stands for, with what the backend says of that', () => {
    const list = {
      object: 'list',
      data: [{ id: 'llama-3.3-70b', object: 'model', created: 7, owned_by: 'us', extra: 1 }],
    };
    expect(listWithAliases(list, new Map([['gpt-5', 'llama-3.3-70b']]), ALL)).to.deep.equal({
      object: 'list',
      data: [
        { id: 'llama-3.3-70b', object: 'model', created: 7, owned_by: 'us', extra: 1 },
        { id: 'gpt-5', object: 'model', created: 7, owned_by: 'us', extra: 1 },
      ],
    });
  });

  it('lists an alias of a model that the backend does not list', () => {
    expect(listWithAliases({ data: [] }, new Map([['a', 'b']]), ALL)).to.deep.equal({
      data: [{ id: 'a', object: 'model', created: 0, owned_by: 'unknown' }],
    });
  });

  it('lists each model of the backend once, and the first 2,000', () => {
    const models = Array.from({ length: 20_000 }, (_, number) => ({ id: `m${number}` }));
    const data = [{ id: 'm1', owned_by: 'the first' }, ...models];

    const listed = listWithAliases({ data }, new Map(), ALL) as { data: readonly unknown[] };

    expect(listed.data).to.have.length(2000);
    expect(listed.data.slice(0, 3)).to.deep.equal([{ id: 'm1', owned_by: 'the first' }, { id: 'm0' }, { id: 'm2' }]);
  });

  it('lists nothing twice', () => {
    const list = { data: [{ id: 'gpt-5' }, null, 'odd'] };
    expect(listWithAliases(list, new Map([['gpt-5', 'x']]), ALL)).to.deep.equal(list);
  });

  for (const answer of [undefined, null, [], 'x', { data: {} }, { models: [] }]) {
    it(`takes ${JSON.stringify(answer)} for no list`, () => {
      expect(listWithAliases(answer, ALIASES, ALL)).to.equal(undefined);
    });
  }
});

describe('namedModel', () => {
  it('gives the backend model the name of its alias', () => {
    expect(namedModel('a', { id: 'b', object: 'model', created: 1 })).to.deep.equal({
      id: 'a',
      object: 'model',
      created: 1,
    });
  });
});
