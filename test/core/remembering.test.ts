import { expect } from 'chai';
import { remembering } from '../../src/core/remembering.ts';

describe('remembering', () => {
  let found: string[];

  /** Finds nothing for a name that begins with `no`. */
  const find = (one: string, other: string): string | undefined => {
    found.push(`${one} ${other}`);
    return one.startsWith('no') ? undefined : `${one} ${other}`;
  };

  beforeEach(() => {
    found = [];
  });

  it('finds once what is asked for again, and undefined too', () => {
    const get = remembering(find, 10);
    for (const _ of [1, 2, 3]) {
      expect(get('a', 'b')).to.equal('a b');
      expect(get('no', 'b')).to.equal(undefined);
    }
    expect(found).to.deep.equal(['a b', 'no b']);
  });

  it('takes no pair of names for another', () => {
    const get = remembering(find, 10);
    const pairs = [
      ['a', 'b'],
      ['b', 'a'],
      ['a', 'a'],
      ['ab', ''],
      ['', 'ab'],
      ['__proto__', 'constructor'],
    ] as const;
    for (const [one, other] of [...pairs, ...pairs]) expect(get(one, other)).to.equal(`${one} ${other}`);
    expect(found).to.have.length(pairs.length);
  });

  const kinds: readonly { by: string; pairOf: (index: number) => readonly [string, string] }[] = [
    { by: 'the first name', pairOf: (index: number) => [`m${index}`, 'b'] },
    { by: 'the second name', pairOf: (index: number) => ['m', `b${index}`] },
  ];
  for (const { by, pairOf } of kinds) {
    it(`keeps no more than it may of pairs that differ by ${by}`, () => {
      const get = remembering(find, 3);
      const indexes = [0, 1, 2, 3, 4];
      for (const index of indexes) get(...pairOf(index));
      found = [];
      for (const index of indexes.toReversed()) expect(get(...pairOf(index))).to.equal(pairOf(index).join(' '));
      // The fourth and the fifth pair made it forget the first two.
      expect(found).to.deep.equal([1, 0].map((index) => pairOf(index).join(' ')));
    });
  }

  it('remembers nothing of a throw', () => {
    const get = remembering(() => {
      throw new Error('not now');
    }, 1);
    for (const _ of [1, 2]) expect(() => get('a', 'b')).to.throw('not now');
  });
});
