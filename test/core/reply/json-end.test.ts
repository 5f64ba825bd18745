import { expect } from 'chai';
import { assert, dictionary, jsonValue, property, string } from 'fast-check';
import { createJsonEnd } from '../../../src/core/reply/json-end.ts';
import { runs } from '../../support/property.ts';

describe('createObjectEnd', () => {
  const cases = [
    { text: '{}', expected: true },
    { text: ' {"a":{"b":[1]}} \n', expected: true },
    { text: '{"a":"}"}', expected: true },
    { text: String.raw`{"a":"\\"}`, expected: true },
    { text: '', expected: false },
    { text: '{"a":{}', expected: false },
    { text: '{"a":"}', expected: false },
    { text: String.raw`{"a":"\"}`, expected: false },
    { text: '{}}', expected: false },
    { text: '{}x', expected: false },
    { text: '[]', expected: false },
    { text: 'null', expected: false },
    { text: '{"a":1}{"a":1}', expected: false },
  ];
  for (const { text, expected } of cases) {
    it(`is ${expected ? '' : 'not '}reached by ${JSON.stringify(text)}`, () => {
      const end = createJsonEnd();
      end.feed(text);
      expect(end.reached).to.equal(expected);
    });
  }

  it('is reached by the last character of any object, and by none before it', () => {
    assert(
      property(dictionary(string(), jsonValue()), (object) => {
        const text = JSON.stringify(object);
        const end = createJsonEnd();
        const reached = Array.from(text, (character) => {
          end.feed(character);
          return end.reached;
        });
        expect(reached.indexOf(true)).to.equal(reached.length - 1);
      }),
      runs(300),
    );
  });
});
