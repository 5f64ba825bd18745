import { expect } from 'chai';
import { spendWindowsOf } from '../../src/accounts/spend.ts';
import { createCalendar } from '../../src/store/calendar.ts';
import { newStoredKey } from '../support/keys.ts';

describe('spendWindowsOf', () => {
  const key = newStoredKey({ daySpentMicro: 10, weekSpentMicro: 60, monthSpentMicro: 200, heldMicro: 5 });
  const limits = { ...key.limits, spendPerDayMicro: 100, spendPerWeekMicro: 120, spendPerMonthMicro: 150 };

  it('counts what is held as spent, and shows a debt', () => {
    const [day, week, month] = spendWindowsOf({ ...key, limits });
    expect(day).to.include({ per: 'day', limitMicro: 100, leftMicro: 85 });
    expect(week).to.include({ per: 'week', limitMicro: 120, leftMicro: 55 });
    expect(month).to.include({ per: 'month', limitMicro: 150, leftMicro: -55 });
  });

  it('shows only what is limited', () => {
    expect(spendWindowsOf(key)).to.deep.equal([]);
    const [only, ...others] = spendWindowsOf({
      ...key,
      limits: { ...limits, spendPerDayMicro: null, spendPerWeekMicro: null },
    });
    expect(only).to.include({ per: 'month' });
    expect(others).to.deep.equal([]);
  });

  it('ends them with the day, week and month of the calendar', () => {
    const today = createCalendar('Europe/Berlin').at(Date.UTC(2026, 2, 24));
    const ends = spendWindowsOf({ ...key, limits, today }).map(({ endsAtMs }) => new Date(endsAtMs).toISOString());
    expect(ends).to.deep.equal(['2026-03-24T23:00:00.000Z', '2026-03-29T22:00:00.000Z', '2026-03-31T22:00:00.000Z']);
  });
});
