import { expect } from 'chai';
import { createBackOff } from '../../../src/process/workers/back-off.ts';

describe('the back-off of restarts', () => {
  it('waits twice as long after each short life, and ten seconds at most', () => {
    const waitAfter = createBackOff();
    const waits = Array.from({ length: 9 }, () => waitAfter(9999));
    expect(waits).to.deep.equal([100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  });

  it('begins anew after a life of ten seconds', () => {
    const waitAfter = createBackOff();
    for (let death = 0; death < 5; death += 1) waitAfter(0);
    expect([waitAfter(10_000), waitAfter(0)]).to.deep.equal([100, 200]);
  });
});
