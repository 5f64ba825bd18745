import { expect } from 'chai';
import { endOfString, isList, isObject, isSpace, listOf, readJson } from '../../src/core/json.ts';

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

describe('listOf', () => {
  it('returns a list as it is, and an empty one for anything else', () => {
    const list = [1];
    expect(listOf(list)).to.equal(list);
    for (const value of [{ length: 1 }, 'text', null, undefined]) expect(listOf(value)).to.deep.equal([]);
  });
});

describe('isSpace', () => {
  it('knows the four characters that JSON has between its tokens', () => {
    const codes = Array.from({ length: 256 }, (_, code) => code);
    expect(codes.filter(isSpace)).to.deep.equal([0x09, 0x0a, 0x0d, 0x20]);
    expect(isSpace(undefined)).to.equal(false);
  });
});

describe('endOfString', () => {
  for (const { text, expected } of [
    { text: 'ab"cd"', expected: 2 },
    { text: '"', expected: 0 },
    { text: String.raw`a\"b"`, expected: 4 },
    { text: String.raw`a\\"b"`, expected: 3 },
    { text: String.raw`a\\\"b"`, expected: 6 },
    { text: 'no end', expected: 6 },
    { text: String.raw`no end\"`, expected: 8 },
  ]) {
    it(`ends the string whose content begins with ${text} at ${expected}`, () => {
      expect(endOfString(`"${text}`, 1)).to.equal(expected + 1);
    });
  }
});
