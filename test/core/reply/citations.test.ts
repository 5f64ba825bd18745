import { expect } from 'chai';
import { createCitations, type Citations } from '../../../src/core/reply/citations.ts';
import type { UrlCitation } from '../../../src/contract/types.ts';

const sources = [
  { url: 'https://example.com/1', title: 'One' },
  { url: 'https://example.com/2', title: '' },
  { url: '', title: 'Three' },
];

const given = (title: string): UrlCitation => ({
  type: 'url_citation',
  url: 'https://example.com/given',
  title,
  start_index: 0,
  end_index: 1,
});

describe('createCitations', () => {
  let citations: Citations;
  let weight: number;

  beforeEach(() => {
    weight = 0;
    citations = createCitations({ grow: (by) => void (weight += by) });
  });

  const cases: { name: string; text: string; places: (readonly [number, number, number])[] }[] = [
    { name: 'no marker', text: 'It rains.', places: [] },
    { name: 'a marker', text: 'It rains [1].', places: [[1, 9, 12]] },
    {
      name: 'markers side by side, one of them twice',
      text: '[2][1][2]',
      places: [
        [2, 0, 3],
        [1, 3, 6],
        [2, 6, 9],
      ],
    },
    { name: 'a marker of no source', text: '[0] [4] [999]', places: [] },
    { name: 'a marker of a source without address', text: '[3]', places: [] },
    { name: 'what is no marker', text: '[ 1 ] [1a] [] [-1] [1.5] [0001] (1)', places: [] },
    { name: 'a place counted in UTF-16 code units', text: '👩‍🚀 [1]', places: [[1, 6, 9]] },
  ];
  for (const { name, text, places } of cases) {
    it(`finds ${name}`, () => {
      citations.setSources(sources);
      const expected = places.map(([number, start, end]) => ({
        type: 'url_citation',
        ...sources[number - 1],
        start_index: start,
        end_index: end,
      }));
      expect(citations.take(text)).to.deep.equal(expected);
      for (const [, start, end] of places) expect(text.slice(start, end)).to.match(/^\[\d\]$/);
    });
  }

  it('finds nothing without sources', () => {
    expect(citations.take('It rains [1].')).to.deep.equal([]);
  });

  it('tells those that the backend gave first, and each once', () => {
    citations.add(given('one'));
    citations.setSources(sources);
    citations.add(given('two'));
    expect(citations.take('[1]').map(({ title }) => title)).to.deep.equal(['one', 'two', 'One']);
    expect(citations.take('')).to.deep.equal([]);
  });

  it('takes the latest list of sources', () => {
    citations.setSources(sources);
    citations.setSources([{ url: 'https://example.com/new', title: 'New' }]);
    expect(citations.take('[1][2]').map(({ title }) => title)).to.deep.equal(['New']);
  });

  it('weighs every citation before it keeps it', () => {
    citations.setSources(sources);
    citations.add(given('one'));
    expect(weight).to.be.at.least('https://example.com/given'.length + 'one'.length);
    const before = weight;
    citations.take('[1][1]');
    expect(weight - before).to.be.at.least(2 * 'https://example.com/1'.length);
  });

  it('tells the first 1,000 of a part', () => {
    citations.setSources(sources);
    for (let left = 600; left > 0; left -= 1) citations.add(given('one'));
    expect(citations.take('[1]'.repeat(600)).map(({ title }) => title)).to.deep.equal([
      ...Array.from({ length: 600 }, () => 'one'),
      ...Array.from({ length: 400 }, () => 'One'),
    ]);
    expect(citations.take('[1]')).to.have.length(1);
  });
});
