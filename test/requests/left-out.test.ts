import { expect } from 'chai';
import { toHeaderList } from '../../src/requests/left-out.ts';

const numbered = (count: number, length: number) =>
  Array.from({ length: count }, (_, index) => `${index}_`.padEnd(length, 'x'));

describe('toHeaderList', () => {
  const cases: { name: string; names: readonly string[]; list: string }[] = [
    { name: 'is empty for nothing', names: [], list: '' },
    { name: 'has the names in their order', names: ['web_search', 'mcp', 'a-b.c:d'], list: 'web_search, mcp, a-b.c:d' },
    { name: 'has nothing that a header does not take', names: ['a, b\r\nx: ü\0'], list: 'a__b__x:___' },
    { name: 'has at most 64 characters of a name', names: ['x'.repeat(100)], list: 'x'.repeat(64) },
    { name: 'has names once that look alike', names: ['ä', 'a', 'ö', 'a'], list: '_, a' },
  ];
  for (const { name, names, list } of cases) {
    it(name, () => {
      expect(toHeaderList(names)).to.equal(list);
    });
  }

  it('has none behind 1,000 names that look alike', () => {
    expect(toHeaderList([...Array.from({ length: 1000 }, () => 'ä'), 'a'])).to.equal('_');
  });

  it('has 32 names at most', () => {
    expect(toHeaderList(numbered(100, 8)).split(', ')).to.deep.equal(numbered(32, 8));
  });

  it('has 2 KiB at most, of whole names', () => {
    const list = toHeaderList(numbered(100, 64));
    expect(list.length).to.be.within(2048 - 66, 2048);
    expect(list.split(', ')).to.deep.equal(numbered(31, 64));
  });
});
