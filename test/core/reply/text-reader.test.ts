import { expect } from 'chai';
import * as fc from 'fast-check';
import { createTextReader } from '../../../src/core/reply/text-reader.ts';
import { cutAt } from '../../support/cut.ts';
import { runs } from '../../support/property.ts';

const told = (pieces: readonly string[], message = ''): string => {
  const reader = createTextReader();
  return pieces.map((piece) => reader.feed(piece, false)).join('') + reader.feed(message, true) + reader.end();
};

/** With as many letters as the words of real texts have. */
const anyText = fc
  .array(fc.constantFrom('the', ' the', ' end', ' of', '\n', ' a', ' line', 'so', ' far', ', ', '.', '—', '😀'), {
    minLength: 1,
    maxLength: 40,
  })
  .map((words) => words.join(''));
const anyCuts = fc.array(fc.nat(), { maxLength: 12 });

describe('a text', () => {
  describe('of real pieces is told as it came', () => {
    const cases: readonly (readonly string[])[] = [
      ['l', 'l', 'l'],
      ['ha', 'ha'],
      ['ha', 'haha', 'hahaha', 'hahahaha', 'hahahahaha'],
      ['1', '11'],
      ['a', 'ab'],
      [' the', ' the end'],
      ['Hel', 'Hello'],
      ['1', '10', '100', '1000', '01'],
      ['a', 'ab', 'abb', 'abba', 'b'],
      ['\n', '\n\n', 'Hi'],
      ['The sun. ', 'The sun. ', 'The sun. It rises. ', 'The sun. It rises. And sets.'],
      ['A line of a poem.\n', 'A line of a poem.\n', 'A line of a poem.\n'],
      ['No', ', no', ', no', ', no, no, no'],
    ];
    for (const pieces of cases) {
      it(JSON.stringify(pieces), () => {
        expect(told(pieces)).to.equal(pieces.join(''));
      });
    }

    it('whatever the text, in pieces of up to four characters', () => {
      const anyPiece = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 });
      fc.assert(
        fc.property(fc.array(anyPiece, { maxLength: 30 }), (pieces) => {
          expect(told(pieces)).to.equal(pieces.join(''));
        }),
        runs(5000),
      );
    });

    it('wherever a text is cut', () => {
      fc.assert(
        fc.property(anyText, anyCuts, (text, cuts) => {
          expect(told(cutAt(text, cuts))).to.equal(text);
        }),
        runs(5000),
      );
    });

    it('wherever a text is cut that repeats a few characters without end', () => {
      const anyLoop = fc.tuple(fc.string({ minLength: 1, maxLength: 6 }), fc.integer({ min: 2, max: 40 }));
      fc.assert(
        fc.property(anyLoop, anyCuts, ([unit, times], cuts) => {
          const text = unit.repeat(times);
          expect(told(cutAt(text, cuts))).to.equal(text);
        }),
        runs(5000),
      );
    });
  });

  describe('is told once', () => {
    const SENTENCE = 'The sky is blue, because the air scatters blue light most.';
    const upTo = (...ends: readonly number[]): string[] => ends.map((end) => SENTENCE.slice(0, end));
    const cases: readonly (readonly [name: string, pieces: readonly string[], expected: string])[] = [
      ['where each piece has all so far', upTo(3, 7, 10, 15, 40, 58), SENTENCE],
      ['where the same comes again', upTo(3, 7, 10, 15, 15, 58, 58), SENTENCE],
      ['where an older state comes again', upTo(3, 7, 10, 15, 10, 58), SENTENCE],
      ['of few words', ['Hel', 'Hello', 'Hello wor', 'Hello world'], 'Hello world'],
      ['where it comes again after its pieces', [...upTo(9), ...cutAt(SENTENCE.slice(9), [5, 30]), SENTENCE], SENTENCE],
    ];
    for (const [name, pieces, expected] of cases) {
      it(name, () => {
        expect(told(pieces)).to.equal(expected);
      });
    }

    it('where the message comes after its pieces, and with the rest of it', () => {
      expect(told(['Hel', 'lo'], 'Hello')).to.equal('Hello');
      expect(told(['Hel', 'lo'], 'Hello world')).to.equal('Hello world');
      expect(told(['Hel', 'Hello'], 'Hello'), 'so far').to.equal('Hello');
      expect(told(['Hel', 'Hello'], 'HelHello!'), 'real').to.equal('HelHello!');
      expect(told(['\nHello'], 'Hello'), 'trimmed').to.equal('\nHello');
      expect(told([], 'Hello'), 'alone').to.equal('Hello');
    });

    it('wherever the pieces end that have all so far', () => {
      const anyEnds = fc.uniqueArray(fc.integer({ min: 5, max: SENTENCE.length }), { minLength: 3, maxLength: 20 });
      fc.assert(
        fc.property(anyEnds, (ends) => {
          const sorted = ends.toSorted((one, other) => one - other);
          expect(told(upTo(...sorted))).to.equal(SENTENCE.slice(0, sorted.at(-1)));
        }),
        runs(1000),
      );
    });
  });

  it('goes on after a text so far', () => {
    expect(told(['The', 'The sky', 'The sky is', ' blue', '.'])).to.equal('The sky is blue.');
  });

  it('is told at once, but for a piece that may have all so far', () => {
    const reader = createTextReader();
    expect(['1', '10', '0'].map((piece) => reader.feed(piece, false))).to.deep.equal(['1', '', '100']);
  });

  it('is told at once where something else says that its pieces are real', () => {
    const reader = createTextReader();
    expect(['The', 'The sky', 'The sky is'].map((piece) => reader.add(piece)).join('')).to.equal(
      'TheThe skyThe sky is',
    );
  });
});
