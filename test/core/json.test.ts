import { expect } from 'chai';
import { isList, isObject, readJson } from '../../src/core/json.ts';

describe('readJson', () => {
  for (const { text, expected } of [
    { text: '{"a": [1]}', expected: { a: [1] } },
    { text: ' null ', expected: null },
    { text: '', expected: undefined },
    { text: '{"a": 1', expected: undefined },
    { text: '{} {}', expected: undefined },
  ]) {
    it(`reads ${JSON.stringify(text)} as ${JSON.stringify(expected) ?? 'nothing'}`, () => {
      expect(readJson(text)).to.deep.equal(expected);
    });
  }
});

describe('isObject and isList', () => {
  for (const { value, is } of [
    { value: {}, is: 'object' },
    { value: [], is: 'list' },
    { value: null, is: 'neither' },
    { value: 'text', is: 'neither' },
    { value: undefined, is: 'neither' },
  ]) {
    it(`take ${JSON.stringify(value) ?? 'undefined'} for ${is}`, () => {
      expect({ object: isObject(value), list: isList(value) }).to.deep.equal({
        object: is === 'object',
        list: is === 'list',
      });
    });
  }
});
