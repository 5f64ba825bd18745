import { expect } from 'chai';
import { createResults } from './results.ts';

describe('the results of the bench', () => {
  it('have the median of the rounds and half of what lies between their ends', () => {
    const results = createResults();
    [90, 100, 120].forEach((ms, index) => results.add(index + 1, 'a load', 'one', { ms }));
    expect(results.median('a load', 'one', 'ms')).to.equal(100);
    expect(results.spread('a load', 'one', 'ms')).to.equal(15);
    expect(results.at(2, 'a load', 'one', 'ms')).to.equal(100);
    expect(results.rounds).to.equal(3);
  });

  it('have a hole where a round failed, and what was measured once in all rounds', () => {
    const results = createResults();
    results.add(1, 'once', 'one', { ms: 7 });
    results.add(1, 'a load', 'one', { ms: 1 });
    results.add(3, 'a load', 'one', { ms: 3 });
    expect(results.at(2, 'a load', 'one', 'ms')).to.be.NaN;
    expect(results.at(2, 'once', 'one', 'ms')).to.equal(7);
    expect(results.median('a load', 'other', 'ms')).to.be.NaN;
  });
});
