import { expect } from 'chai';
import { createBackOff } from '../../src/core/back-off.ts';

describe('the back-off of restarts', () => {
  const limits = { firstMs: 100, atMostMs: 10_000 };

  it('waits twice as long after each short life, and ten seconds at most', () => {
    const waitAfter = createBackOff(limits);
    const waits = Array.from({ length: 9 }, () => waitAfter(false));
    expect(waits).to.deep.equal([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  });

  it('begins anew after a steady life', () => {
    const waitAfter = createBackOff(limits);
    for (let death = 0; death < 5; death += 1) waitAfter(false);
    expect([waitAfter(true), waitAfter(false)]).to.deep.equal([100, 200]);
  });
});
