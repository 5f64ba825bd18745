import { expect } from 'chai';
import * as fc from 'fast-check';
import { runs } from '../../support/property.ts';
import { splitAll } from '../../support/split-all.ts';

/** Text made mostly of what the splitter looks for, whole and in parts. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom('<think>', '</think>', '<', '</', 'think', '>', '<thi', 'nk>', ' ', '\n', 'a'),
      fc.string({ unit: 'binary' }),
    ),
    {
      maxLength: 12,
    },
  )
  .map((pieces) => pieces.join(''));

const thinkTags = fc.constantFrom(true as const, 'opened' as const);

describe('the think tag splitter', () => {
  it('says the same wherever the text is cut', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 6 }), thinkTags, (text, cuts, tags) => {
        const places = [
          0,
          ...cuts.map((cut) => cut % (text.length + 1)).sort((one, other) => one - other),
          text.length,
        ];
        const pieces = places.slice(1).map((end, index) => text.slice(places[index], end));
        expect(splitAll(pieces, tags)).to.deep.equal(splitAll([text], tags));
      }),
      runs(3000),
    );
  });

  it('loses nothing but the tags and the white space at them', () => {
    fc.assert(
      fc.property(text, (text) => {
        const { reasoning, answer } = splitAll([text]);
        const block = /^\s*<think>\s*([\s\S]*)$/.exec(text)?.[1];
        if (block === undefined) {
          expect({ reasoning, answer }).to.deep.equal({ reasoning: '', answer: text });
          return;
        }
        const close = block.indexOf('</think>');
        expect(reasoning).to.equal(close < 0 ? block : block.slice(0, close));
        expect(answer).to.equal(close < 0 ? '' : block.slice(close + '</think>'.length).trimStart());
      }),
      runs(3000),
    );
  });

  it('takes a text in a block of the template for one with the tag', () => {
    fc.assert(
      fc.property(text, (text) => {
        const opened = text.trimStart().startsWith('<think>') ? text : `<think>${text}`;
        expect(splitAll([text], 'opened')).to.deep.equal(splitAll([opened]));
      }),
      runs(3000),
    );
  });
});
