import { expect } from 'chai';
import { spendWindowsOf } from '../../src/accounts/spend.ts';
import { newStoredKey } from '../support/keys.ts';

describe('spendWindowsOf', () => {
  const key = newStoredKey({ spentTodayMicro: 10, spentThisMonthMicro: 200, heldMicro: 5 });
  const limits = { ...key.limits, spendPerDayMicro: 100, spendPerMonthMicro: 150 };

  it('counts what is held as spent, and shows a debt', () => {
    const [day, month] = spendWindowsOf({ ...key, limits }, Date.UTC(2026, 2, 15));
    expect(day).to.include({ per: 'day', limitMicro: 100, leftMicro: 85 });
    expect(month).to.include({ per: 'month', limitMicro: 150, leftMicro: -55 });
  });

  it('shows only what is limited', () => {
    expect(spendWindowsOf(key, 0)).to.deep.equal([]);
    const [only, ...others] = spendWindowsOf({ ...key, limits: { ...limits, spendPerDayMicro: null } }, 0);
    expect(only).to.include({ per: 'month' });
    expect(others).to.deep.equal([]);
  });

  const edges: readonly { at: string; dayEnds: string; monthEnds: string }[] = [
    { at: '2026-03-15T00:00:00.000Z', dayEnds: '2026-03-16', monthEnds: '2026-04-01' },
    { at: '2026-04-30T23:59:59.999Z', dayEnds: '2026-05-01', monthEnds: '2026-05-01' },
    { at: '2028-02-28T12:00:00.000Z', dayEnds: '2028-02-29', monthEnds: '2028-03-01' },
    { at: '2026-12-31T23:59:59.999Z', dayEnds: '2027-01-01', monthEnds: '2027-01-01' },
  ];
  for (const { at, dayEnds, monthEnds } of edges) {
    it(`ends the windows of ${at} with the UTC day and month`, () => {
      const ends = spendWindowsOf({ ...key, limits }, Date.parse(at)).map(({ endsAtMs }) => endsAtMs);
      expect(ends).to.deep.equal([Date.parse(dayEnds), Date.parse(monthEnds)]);
    });
  }
});
