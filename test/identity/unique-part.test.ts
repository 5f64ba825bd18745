import { expect } from 'chai';
import { newUniquePartAt } from '../../src/identity/unique-part.ts';

describe('newUniquePartAt', () => {
  it('begins with the time, so that ids are in the order of their making', () => {
    expect(newUniquePartAt(1_790_000_000_000)).to.match(/^01a0c4506c00[0-9a-f]{20}$/);
  });

  it('gives another one each time, and each digit of chance its turn', () => {
    const parts = Array.from({ length: 1000 }, (_, ms) => newUniquePartAt(ms));
    expect(new Set(parts).size).to.equal(1000);
    const changing = Array.from({ length: 20 }, (_, at) => new Set(parts.map((part) => part[12 + at])).size > 1);
    expect(changing).to.deep.equal(Array.from({ length: 20 }, () => true));
  });

  it('grows within a millisecond too', () => {
    const parts = Array.from({ length: 1000 }, () => newUniquePartAt(7));
    expect(parts).to.deep.equal(parts.toSorted());
    expect(new Set(parts).size).to.equal(1000);
  });
});
