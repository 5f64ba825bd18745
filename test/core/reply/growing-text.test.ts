import { expect } from 'chai';
import { array, assert, property, string } from 'fast-check';
import { appendText } from '../../../src/core/reply/growing-text.ts';
import { runs } from '../../support/property.ts';

describe('appendText', () => {
  it('puts texts together as they are, at any length', () => {
    assert(
      property(array(string({ unit: 'binary', maxLength: 300 })), (texts) => {
        expect(texts.reduce(appendText, '')).to.equal(texts.join(''));
      }),
      runs(500),
    );
  });

  it('keeps a long text whole', () => {
    const words = Array.from({ length: 20_000 }, (_, index) => ` word${index}`);
    expect(words.reduce(appendText, '')).to.equal(words.join(''));
  });
});
