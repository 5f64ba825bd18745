import { expect } from 'chai';
import * as fc from 'fast-check';
import { createCallArguments } from '../../../src/core/reply/call-arguments.ts';
import { jsonObjectIn } from '../../../src/core/reply/json-end.ts';
import { cutAt } from '../../support/cut.ts';
import { runs } from '../../support/property.ts';

/** What is told of the pieces, each time and in all. */
function told(pieces: readonly string[], isCut = false): string[] {
  const read = createCallArguments();
  const each = [...pieces.map((piece) => read.feed(piece)), read.end(isCut)];
  expect(each.join('')).to.equal(read.emitted);
  return each;
}

/** Objects whose parts look like their beginnings, and strings that look like objects. */
const { object: anyObject } = fc.letrec<{ object: object; value: unknown }>((tie) => ({
  object: fc.dictionary(fc.constantFrom('a', '', '{', '{"a":'), tie('value'), { maxKeys: 2 }),
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(1, 11, '', 'a', '{"a":', '{"a":1}', '\\', '"', '[{', null, true),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
}));
const anyCuts = fc.array(fc.nat(), { maxLength: 8 });

describe('the arguments of a call', () => {
  it('are told piece by piece', () => {
    expect(told(['{"a"', ':"x', 'x', 'x', '"}'])).to.deep.equal(['{"a"', ':"x', 'x', 'x', '"}', '']);
  });

  it('are told as they grow, where each piece has all so far', () => {
    expect(told(['{"a"', '{"a":"x', '{"a":"x', '{"a"', '{"a":"xy"}'])).to.deep.equal([
      '{"a"',
      ':"x',
      '',
      '',
      'y"}',
      '',
    ]);
  });

  it('wait where a piece can be all so far and can go on', () => {
    expect(told(['{"a":', '{"a":1}', '}'])).to.deep.equal(['{"a":', '', '{"a":1}}', '']);
    expect(told(['{"a":', '{"a":[', '{"a":[1', '{"a":[1,2]}'])).to.deep.equal(['{"a":', '', '', '[1,2]}', '']);
    expect(told(['{"a":', '{"a":1}'])).to.deep.equal(['{"a":', '', '1}']);
    expect(told(['{"a":', '{"a":1}'], true), 'where more was to come').to.deep.equal(['{"a":', '', '{"a":1}']);
  });

  it('are told as they came, where they are no JSON', () => {
    for (const pieces of [
      ['ha', 'ha', 'haha'],
      ["{'a'", "{'a':1}"],
      ['{"a":1}', 'x'],
      ['{"a":1}', '{"b":2}'],
    ]) {
      expect(told(pieces).join('')).to.equal(pieces.join(''));
    }
  });

  it('are told as they came, where they begin again and go on in another way', () => {
    expect(told(['{"a":1}', '{"a"', ':2}']).join('')).to.equal('{"a":1}{"a":2}');
  });

  it('do not wait for ever', () => {
    const pieces = Array.from({ length: 40 }, () => '{"a":');
    expect(told(pieces).slice(0, -1).join('')).to.have.length.above(60);
  });

  it('that are real pieces are all told, wherever they are cut', () => {
    fc.assert(
      fc.property(anyObject, anyCuts, (object, cuts) => {
        const json = JSON.stringify(object);
        expect(told(cutAt(json, cuts)).join('') || '{}').to.equal(json);
      }),
      runs(5000),
    );
  });

  it('are told once, wherever the texts end that have all so far', () => {
    fc.assert(
      fc.property(anyObject, anyCuts, (object, cuts) => {
        const json = JSON.stringify(object);
        const ends = [...cuts.map((cut) => cut % json.length), json.length].sort((one, other) => one - other);
        expect(told(ends.map((end) => json.slice(0, end))).join('') || '{}').to.equal(json);
      }),
      runs(5000),
    );
  });

  it('are told once, where they come again after their pieces, whole or in pieces', () => {
    fc.assert(
      fc.property(anyObject, anyCuts, anyCuts, (object, cuts, others) => {
        const json = JSON.stringify(object);
        expect(told([...cutAt(json, cuts), ...cutAt(json, others), json]).join('') || '{}').to.equal(json);
      }),
      runs(2000),
    );
  });
});

describe('jsonObjectIn', () => {
  for (const [text, expected] of [
    ['{}', 'whole'],
    [' {"a":[1,{"b":"}"}],"c":-1e3} ', 'whole'],
    ['', 'begun'],
    ['{"a', 'begun'],
    ['{"a":tr', 'begun'],
    [String.raw`{"a":"\"`, 'begun'],
    ['{"a":[{"b":1},', 'begun'],
    ['{}}', 'broken'],
    ['{}{', 'broken'],
    ['[]', 'broken'],
    ['"a"', 'broken'],
    ['{{', 'broken'],
    ['{1', 'broken'],
    ['{]', 'broken'],
    ['{,', 'broken'],
    ['{"a" "b"', 'broken'],
    ['{"a":1{', 'broken'],
    ['{"a":1 2', 'broken'],
    ['{"a":,', 'broken'],
    ['{"a":1,}', 'broken'],
    ['{"a":[1}', 'broken'],
    ['{"a":[1,]', 'broken'],
    ['{"a"::', 'broken'],
  ] as const) {
    it(`takes ${JSON.stringify(text)} for ${expected}`, () => {
      expect(jsonObjectIn(text)).to.equal(expected);
    });
  }
});
