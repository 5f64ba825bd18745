import { expect } from 'chai';
import { setLast } from '../../src/core/set-last.ts';

describe('setLast', () => {
  it('forgets the entry that was set longest ago', () => {
    const map = new Map<string, number>();
    for (const [number, key] of ['a', 'b', 'a', 'c'].entries()) setLast(map, key, number, 2);
    expect([...map]).to.deep.equal([
      ['a', 2],
      ['c', 3],
    ]);
  });
});
