import { expect } from 'chai';
import { createModels } from '../../src/core/models.ts';

describe('what the operator says of a model', () => {
  const names = ['coder', 'qwen3-32b', 'qwen*', 'qwen3-*', '*'];
  const models = createModels({
    models: Object.fromEntries(names.map((name, index) => [name, { context_window: index + 1 }])),
  });
  const cases: { name: string; model: string; backendModel?: string; found: string }[] = [
    { name: 'its own name', model: 'coder', backendModel: 'qwen3-32b', found: 'coder' },
    { name: 'the name that the backend knows', model: 'other', backendModel: 'qwen3-32b', found: 'qwen3-32b' },
    { name: 'the longest pattern', model: 'qwen3-8b', found: 'qwen3-*' },
    { name: 'a pattern in other letters', model: 'Qwen2-7B', found: 'qwen*' },
    {
      name: 'a pattern of the name that the backend knows',
      model: 'alias',
      backendModel: 'qwen3-4b',
      found: 'qwen3-*',
    },
    { name: 'the pattern of all', model: 'constructor', found: '*' },
  ];
  for (const { name, model, backendModel = model, found } of cases) {
    it(`is found by ${name}`, () => {
      expect(models.find(model, backendModel)?.context_window).to.equal(names.indexOf(found) + 1);
    });
  }

  it('is nothing where no name and no pattern fits', () => {
    expect(createModels({ models: { m: {} } }).find('toString', 'x')).to.equal(undefined);
  });
});
