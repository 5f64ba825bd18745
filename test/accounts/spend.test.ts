import { expect } from 'chai';
import { spendWindowsOf } from '../../src/accounts/spend.ts';
import { createCalendar } from '../../src/store/calendar.ts';
import { newStoredKey } from '../support/keys.ts';

describe('spendWindowsOf', () => {
  const key = newStoredKey({ spentTodayMicro: 10, spentThisMonthMicro: 200, heldMicro: 5 });
  const limits = { ...key.limits, spendPerDayMicro: 100, spendPerMonthMicro: 150 };

  it('counts what is held as spent, and shows a debt', () => {
    const [day, month] = spendWindowsOf({ ...key, limits });
    expect(day).to.include({ per: 'day', limitMicro: 100, leftMicro: 85 });
    expect(month).to.include({ per: 'month', limitMicro: 150, leftMicro: -55 });
  });

  it('shows only what is limited', () => {
    expect(spendWindowsOf(key)).to.deep.equal([]);
    const [only, ...others] = spendWindowsOf({ ...key, limits: { ...limits, spendPerDayMicro: null } });
    expect(only).to.include({ per: 'month' });
    expect(others).to.deep.equal([]);
  });

  it('ends them with the day and month of the calendar', () => {
    const today = createCalendar('Europe/Berlin').at(Date.UTC(2026, 2, 15));
    const ends = spendWindowsOf({ ...key, limits, today }).map(({ endsAtMs }) => new Date(endsAtMs).toISOString());
    expect(ends).to.deep.equal(['2026-03-15T23:00:00.000Z', '2026-03-31T22:00:00.000Z']);
  });
});
