import { expect } from 'chai';
import { countsAt, standingOf } from '../../../src/core/money/rates.ts';

const MINUTE_MS = 60_000;
const COUNTS = { minute: 100, minuteRequests: 3, minuteTokens: 50 };

describe('the counts of a minute', () => {
  const moments: readonly { what: string; atMs: number; minute: number; requests: number }[] = [
    { what: 'its first millisecond', atMs: 100 * MINUTE_MS, minute: 100, requests: 3 },
    { what: 'its last millisecond', atMs: 101 * MINUTE_MS - 1, minute: 100, requests: 3 },
    { what: 'the millisecond after it', atMs: 101 * MINUTE_MS, minute: 101, requests: 0 },
    {
      what: 'the millisecond before it, since calls overtake each other',
      atMs: 100 * MINUTE_MS - 1,
      minute: 100,
      requests: 3,
    },
    { what: 'a clock that was set back', atMs: 99 * MINUTE_MS - 1, minute: 98, requests: 0 },
  ];
  for (const { what, atMs, minute, requests } of moments) {
    it(`are ${requests === 0 ? 'made anew' : 'kept'} for ${what}`, () => {
      expect(countsAt(COUNTS, atMs)).to.include({ minute, minuteRequests: requests });
    });
  }

  it('begin anew when their own minute is over, also for a moment before it', () => {
    const key = { ...COUNTS, requestsPerMinute: 5, tokensPerMinute: null };
    expect(standingOf(key, 101 * MINUTE_MS - 10)?.resetMs).to.equal(10);
    expect(standingOf(key, 100 * MINUTE_MS - 10)?.resetMs).to.equal(MINUTE_MS + 10);
  });
});
