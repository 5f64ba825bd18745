import { expect } from 'chai';
import { assert, double, property } from 'fast-check';
import {
  addCounts,
  describeCounts,
  nameOfInput,
  nameOfRejection,
  nameOfTime,
} from '../../../src/core/books/request-stats.ts';
import { runs } from '../../support/property.ts';

function count(...names: string[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const name of names) addCounts(sums, { [name]: 1 });
  return sums;
}

describe('the statistics of requests', () => {
  it('tell a time from a millisecond to a day within 5 %', () => {
    assert(
      property(double({ min: 1, max: 86_400_000, noNaN: true }), (ms) => {
        const { duration } = describeCounts(count(nameOfTime('duration', ms)));
        // A whole number of milliseconds is told.
        expect(Math.abs((duration?.p50Ms ?? 0) - ms)).to.be.at.most(0.05 * ms + 0.5);
      }),
      runs(300),
    );
  });

  it('take what is shorter than a millisecond for one', () => {
    const { duration } = describeCounts(count(nameOfTime('duration', 0), nameOfTime('duration', -3)));
    expect(duration).to.deep.equal({ count: 2, p50Ms: 1, p95Ms: 1 });
  });

  it('have the percentiles by nearest rank, of each kind of time by itself', () => {
    const times = Array.from({ length: 100 }, (_, at) =>
      nameOfTime('duration', at < 50 ? 100 : at < 95 ? 1000 : 60_000),
    );
    const { duration, firstToken } = describeCounts(count(...times, nameOfTime('first_token', 7)));
    expect(duration?.count).to.equal(100);
    expect(duration?.p50Ms).to.be.within(95, 105);
    expect(duration?.p95Ms).to.be.within(950, 1050);
    expect(firstToken).to.deep.equal({ count: 1, p50Ms: 7, p95Ms: 7 });
  });

  it('have refusals by code, the most frequent first', () => {
    const rejected = ['forbidden', 'invalid_json', 'forbidden', 'duplicate_request'].map(nameOfRejection);
    expect(describeCounts(count(...rejected))).to.deep.equal({
      firstToken: null,
      duration: null,
      rejected: [
        { code: 'forbidden', count: 2 },
        { code: 'duplicate_request', count: 1 },
        { code: 'invalid_json', count: 1 },
      ],
      backends: [],
    });
  });

  it('have the input of each backend by name', () => {
    const sums = count(nameOfInput('input', 'gpu-b'), nameOfInput('moved', 'gpu-b'));
    for (const times of [1, 2]) addCounts(sums, { [nameOfInput('input', 'gpu-a')]: 100 * times, 'cached:gpu-a': 64 });
    addCounts(sums, { [nameOfInput('reachable', 'gpu-a')]: 80, [nameOfInput('saved', 'gpu-a')]: 70 });
    expect(describeCounts(sums).backends).to.deep.equal([
      { backend: 'gpu-a', input: 300, cached: 128, reachable: 80, moved: 0, saved: 70 },
      { backend: 'gpu-b', input: 1, cached: 0, reachable: 0, moved: 1, saved: 0 },
    ]);
  });
});
