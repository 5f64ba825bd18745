import { expect } from 'chai';
import { createThinkTagSplitter } from '../../../src/core/reply/think-tags.ts';
import { splitAll } from '../../support/split-all.ts';

describe('createThinkTagSplitter', () => {
  const cases = [
    { name: 'a leading block', text: '<think>Hmm.</think>Hello', reasoning: 'Hmm.', answer: 'Hello' },
    {
      name: 'white space around the tags',
      text: '\n <think>\n Hmm. \n</think>\n\nHello\n',
      reasoning: 'Hmm. \n',
      answer: 'Hello\n',
    },
    { name: 'no block', text: 'Hello', reasoning: '', answer: 'Hello' },
    { name: 'leading white space and no block', text: '\n\n Hello', reasoning: '', answer: '\n\n Hello' },
    { name: 'white space alone', text: ' \n', reasoning: '', answer: ' \n' },
    {
      name: 'a tag in the middle, which the model speaks of',
      text: 'Use <think>this</think>.',
      reasoning: '',
      answer: 'Use <think>this</think>.',
    },
    {
      name: 'a second block',
      text: '<think>a</think>b<think>c</think>d',
      reasoning: 'a',
      answer: 'b<think>c</think>d',
    },
    { name: 'an opening tag within the block', text: '<think>a<think>b</think>c', reasoning: 'a<think>b', answer: 'c' },
    { name: 'an empty block', text: '<think></think>Hello', reasoning: '', answer: 'Hello' },
    { name: 'a block that is never closed', text: '<think>Hmm', reasoning: 'Hmm', answer: '' },
    { name: 'a block that ends within its closing tag', text: '<think>Hmm</thi', reasoning: 'Hmm</thi', answer: '' },
    { name: 'something like a closing tag', text: '<think>a </thin b</think>c', reasoning: 'a </thin b', answer: 'c' },
    { name: 'half a closing tag before the whole one', text: '<think>a</th</think>c', reasoning: 'a</th', answer: 'c' },
    { name: 'nothing but the beginning of the tag', text: '<thin', reasoning: '', answer: '<thin' },
    { name: 'another tag', text: '<thinking>a</thinking>', reasoning: '', answer: '<thinking>a</thinking>' },
    {
      name: 'a closing tag without an opening one',
      text: 'Hmm.</think>Hello',
      reasoning: '',
      answer: 'Hmm.</think>Hello',
    },
    { name: 'nothing', text: '', reasoning: '', answer: '' },
    {
      name: 'more leading white space than a template writes',
      text: `${' '.repeat(257)}<think>a</think>b`,
      reasoning: '',
      answer: `${' '.repeat(257)}<think>a</think>b`,
    },
  ];

  for (const { name, text, reasoning, answer } of cases) {
    it(`splits ${name}, wherever it is cut`, () => {
      expect(splitAll([text])).to.deep.equal({ reasoning, answer });
      expect(splitAll(text.split('')), 'letter by letter').to.deep.equal({ reasoning, answer });
      for (let cut = 1; cut < text.length; cut += 1) {
        expect(splitAll([text.slice(0, cut), text.slice(cut)]), `cut at ${cut}`).to.deep.equal({ reasoning, answer });
      }
    });
  }

  it('holds back no more than could be a tag', () => {
    const splitter = createThinkTagSplitter();
    expect(splitter.split('<think>abc</t')).to.deep.equal([{ kind: 'reasoning', text: 'abc' }]);
    expect(splitter.split('x')).to.deep.equal([{ kind: 'reasoning', text: '</tx' }]);
  });

  describe('release', () => {
    it('gives back the beginning of a tag as text, after which no block can begin', () => {
      const splitter = createThinkTagSplitter();
      splitter.split('\n<th');
      expect(splitter.release()).to.deep.equal([{ kind: 'text', text: '\n<th' }]);
      expect(splitter.split('<think>a')).to.deep.equal([{ kind: 'text', text: '<think>a' }]);
    });

    it('gives back the beginning of a closing tag as reasoning, which goes on', () => {
      const splitter = createThinkTagSplitter();
      splitter.split('<think>a</th');
      expect(splitter.release()).to.deep.equal([{ kind: 'reasoning', text: '</th' }]);
      expect(splitter.split('b</think>c')).to.deep.equal([
        { kind: 'reasoning', text: 'b' },
        { kind: 'text', text: 'c' },
      ]);
    });

    for (const before of ['', '<think>', '<think>a', '<think>a</think>', '<think>a</think> b', 'b']) {
      it(`gives nothing after ${JSON.stringify(before)}, and changes nothing`, () => {
        const splitter = createThinkTagSplitter();
        const pieces = splitter.split(before);
        expect(splitter.release()).to.deep.equal([]);
        pieces.push(...splitter.split('<think>x</think>y'), ...splitter.release());
        const joined = (kind: string) =>
          pieces
            .filter((piece) => piece.kind === kind)
            .map(({ text }) => text)
            .join('');
        const whole = splitAll([`${before}<think>x</think>y`]);
        expect({ reasoning: joined('reasoning'), answer: joined('text') }).to.deep.equal(whole);
      });
    }
  });
});
