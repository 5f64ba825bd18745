import { expect } from 'chai';
import { listWithAliases, namedModel, replaceModel } from '../../../src/http/passthrough/models.ts';

const ALIASES = new Map([
  ['gpt-5', 'llama-3.3-70b'],
  ['größe', 'qwen "max"'],
]);

describe('replaceModel', () => {
  const cases: { name: string; body: string; becomes?: string }[] = [
    {
      name: 'replaces an alias and keeps every other byte',
      body: '{ "messages":[{"role":"user","content":"1.0"}],\n\t"model" : "gpt-5" , "temperature": 1.0, "x":"é" }',
      becomes:
        '{ "messages":[{"role":"user","content":"1.0"}],\n\t"model" : "llama-3.3-70b" , "temperature": 1.0, "x":"é" }',
    },
    { name: 'keeps a model that is no alias', body: '{"model":"llama"}' },
    { name: 'keeps the model of a deeper object', body: '{"a":{"model":"gpt-5"},"b":[{"model":"gpt-5"}],"model":"x"}' },
    { name: 'keeps a value that says model', body: '{"a":"model","b":"gpt-5"}' },
    { name: 'keeps a model that is no string', body: '{"model":["gpt-5"]}' },
    {
      name: 'reads keys and names with escapes',
      body: String.raw`{"mod\u0065l":"gpt\u002d5"}`,
      becomes: String.raw`{"mod\u0065l":"llama-3.3-70b"}`,
    },
    { name: 'writes names with quotes', body: '{"model":"größe"}', becomes: String.raw`{"model":"qwen \"max\""}` },
    {
      name: 'replaces a repeated key every time, since backends differ in which they take',
      body: '{"model":"gpt-5","model":"gpt-5"}',
      becomes: '{"model":"llama-3.3-70b","model":"llama-3.3-70b"}',
    },
    {
      name: 'is not misled by quotes and brackets in strings',
      body: String.raw`{"a":"\"model\":\"gpt-5\"}{[","model":"gpt-5"}`,
      becomes: String.raw`{"a":"\"model\":\"gpt-5\"}{[","model":"llama-3.3-70b"}`,
    },
    { name: 'takes a list at the top for no request', body: '["model","gpt-5"]' },
    { name: 'leaves what is not JSON', body: '{"model":"gpt-5' },
    { name: 'leaves an empty body', body: '' },
  ];

  for (const { name, body, becomes } of cases) {
    it(`models: ${name}`, () => {
      expect(replaceModel(Buffer.from(body), ALIASES).toString()).to.equal(becomes ?? body);
    });
  }
});

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
