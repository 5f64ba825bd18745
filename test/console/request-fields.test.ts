import { expect } from 'chai';
import { readFields } from '../../src/console/request-fields.js';

const fields = {
  model: ' m ',
  input: ' Hello ',
  instructions: '',
  tools: '',
  maxOutputTokens: '',
  effort: '',
  stream: false,
};

describe('the form of the console', () => {
  it('makes a request without what was left empty', () => {
    expect(readFields({ ...fields, instructions: ' \n', tools: ' [] ' })).to.deep.equal({
      request: { model: 'm', input: ' Hello ' },
      problems: {},
    });
  });

  it('makes a request of all that was filled in', () => {
    const tools = '[{"type": "function", "name": "look"}]';
    const filled = {
      ...fields,
      instructions: 'Be brief',
      tools,
      maxOutputTokens: ' 12 ',
      effort: 'high',
      stream: true,
    };
    expect(readFields(filled)).to.deep.equal({
      request: {
        model: 'm',
        input: ' Hello ',
        instructions: 'Be brief',
        tools: [{ type: 'function', name: 'look' }],
        max_output_tokens: 12,
        reasoning: { effort: 'high' },
        stream: true,
      },
      problems: {},
    });
  });

  const wrong: readonly [name: string, field: keyof typeof fields, values: readonly string[]][] = [
    ['no model', 'model', ['', '  ']],
    ['no input', 'input', ['', ' \n']],
    ['tools that are no JSON list of objects', 'tools', ['{', '{}', '"x"', '[1]', '[null]']],
    ['a limit that is no whole number from 1', 'maxOutputTokens', ['0', '-1', '1.5', 'x', '1e3', '9999999999']],
  ];
  for (const [name, field, values] of wrong) {
    it(`says so of ${name}`, () => {
      for (const value of values) {
        expect(Object.keys(readFields({ ...fields, [field]: value }).problems), value).to.deep.equal([field]);
      }
    });
  }
});
