/** Chance that comes out the same for the same seed. */
export interface Random {
  /** From 0 to below 1. */
  next(): number;
  /** A whole or broken number in this range. */
  between(from: number, to: number): number;
  pick<Item>(items: readonly Item[]): Item;
  happens(probability: number): boolean;
  /** Another one of its own, so that what one actor does changes nothing for the others. */
  fork(): Random;
}

/** Mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const random: Random = {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
    between: (from, to) => from + random.next() * (to - from),
    pick<Item>(items: readonly Item[]) {
      const item = items[Math.floor(random.next() * items.length)];
      if (item === undefined) throw new RangeError('there is nothing to pick from');
      return item;
    },
    happens: (probability) => random.next() < probability,
    fork: () => createRandom(Math.floor(random.next() * 2 ** 32)),
  };
  return random;
}
