import { expect } from 'chai';
import { array, assert, constantFrom, integer, property, tuple } from 'fast-check';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { piecesOf, portionsOf } from '../../src/tokenizer/pieces.ts';
import { runs } from '../support/property.ts';

const PORTION_LENGTH = 4096;
/** 32 in a row, one before them, and the ending of a contraction. */
const LONGEST_WORD = 36;

/** Runs of all kinds, mixed, since the patterns of tokenizers take letters, marks, signs, spaces and line ends together. */
const texts = array(
  tuple(
    constantFrom('a', 'A', 'é', '灯', '\u0301', '!', '/', '\n', '\r', ' ', '😀', "'s", '\ud800', '7', '/\n', ' !'),
    integer({ min: 1, max: 200 }),
  ),
  { maxLength: 20 },
).map((parts) => parts.map(([sign, times]) => sign.repeat(times)).join(''));

describe('the pieces of a text', () => {
  it('are the text again', () => {
    assert(
      property(texts, (text) => {
        expect([...piecesOf(text)].join('')).to.equal(text);
      }),
      runs(100),
    );
  });

  for (const { name, pattern } of [
    { name: 'o200k_base', pattern: new RegExp(o200k.pat_str, 'gu') },
    { name: 'cl100k_base', pattern: new RegExp(cl100k.pat_str, 'gu') },
  ]) {
    it(`have no long word for ${name}`, () => {
      const longest = (piece: string) =>
        Math.max(...[...piece.matchAll(pattern)].map(([word]) => Array.from(word).length));
      assert(
        property(texts, (text) => {
          for (const piece of piecesOf(text)) expect(longest(piece)).to.be.at.most(LONGEST_WORD);
        }),
        runs(100),
      );
    });
  }

  it('are one where nothing is long', () => {
    const text = 'The keeper of the lighthouse wrote, in 1893, that the storm had taken the boat.\n  – "Two windows!"';
    expect([...piecesOf(text)]).to.deep.equal([text]);
    expect([...piecesOf('')]).to.deep.equal([]);
  });
});

describe('the portions of texts', () => {
  it('are the texts again, none of them long', () => {
    assert(
      property(array(texts, { maxLength: 5 }), (several) => {
        const portions = [...portionsOf(several)];
        expect(portions.flat().join('')).to.equal(several.join(''));
        for (const portion of portions) expect(Array.from(portion.join(''))).to.have.length.within(1, PORTION_LENGTH);
      }),
      runs(100),
    );
  });

  it('end where words end', () => {
    const text = 'lighthouse '.repeat(1000);
    for (const portion of [...portionsOf([text])].slice(0, -1)) expect(portion.at(-1)).to.match(/e$/);
  });

  it('are as few as can be for many short texts', () => {
    const many = Array.from({ length: 1024 }, () => 'a word, ');
    expect([...portionsOf(many)].map((portion) => portion.length)).to.deep.equal([512, 512]);
  });

  it('are made when they are asked for', () => {
    const portions = portionsOf(['a'.repeat(30_000_000)]);
    expect(portions.next().value).to.deep.equal(['a'.repeat(PORTION_LENGTH)]);
  });
});
