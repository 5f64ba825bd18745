import { expect } from 'chai';
import { assert, constantFrom, json, property } from 'fast-check';
import { findSyntaxError } from '../../src/core/json-syntax.ts';
import { runs } from '../support/property.ts';

describe('findSyntaxError', () => {
  const cases: { name: string; text: string; position: number }[] = [
    { name: 'a bare word', text: '{"a": hello}', position: 6 },
    { name: 'a comma before }', text: '{"a":1,}', position: 7 },
    { name: 'a comma before ]', text: '[1,]', position: 3 },
    { name: 'a missing colon', text: '{"a" 1}', position: 5 },
    { name: 'a missing comma', text: '[1 2]', position: 3 },
    { name: 'single quotes', text: "{'a':1}", position: 1 },
    { name: 'a wrong closer', text: '[1}', position: 2 },
    { name: 'text after the value', text: '{} x', position: 3 },
    { name: 'a second value after a comma', text: '1,2', position: 1 },
    { name: 'a number with a leading zero', text: '[01]', position: 2 },
    { name: 'a bad escape', text: String.raw`"a\x"`, position: 2 },
    { name: 'a short unicode escape', text: String.raw`"\u12"`, position: 1 },
    { name: 'a control character in a string', text: '["a\nb"]', position: 3 },
    { name: 'an open string', text: '["a', position: 3 },
    { name: 'an open array', text: '[1,', position: 3 },
    { name: 'nothing', text: '', position: 0 },
  ];

  for (const { name, text, position } of cases) {
    it(`finds ${name}`, () => {
      expect(() => JSON.parse(text) as unknown).to.throw();
      expect(findSyntaxError(text)).to.equal(position);
    });
  }

  it('reaches the end of whatever JSON.parse takes', () => {
    assert(
      property(json(), (text) => {
        expect(findSyntaxError(text)).to.equal(text.length);
      }),
      runs(500),
    );
  });

  it('stops before the end of a text whose tail is broken', () => {
    assert(
      property(json(), constantFrom('}', ']', ' ?', '"'), (text, tail) => {
        expect(findSyntaxError(text + tail)).to.be.at.most(text.length + tail.length);
        expect(findSyntaxError(text + tail)).to.be.at.least(text.trimEnd().length);
      }),
      runs(500),
    );
  });
});
