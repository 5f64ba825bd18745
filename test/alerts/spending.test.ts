import { expect } from 'chai';
import { percentOf, reachedBy, spendingOf } from '../../src/alerts/spending.ts';
import { UTC } from '../../src/core/time.ts';
import { createCalendar } from '../../src/store/calendar.ts';
import type { AccountSpending } from '../../src/core/books/alerts.ts';
import { newKeyId } from '../support/keys.ts';

const NOON_MS = Date.UTC(2026, 11, 31, 12);

const ACCOUNT: AccountSpending = {
  seq: 1,
  id: newKeyId(),
  name: 'alice',
  groupId: null,
  groupName: null,
  fundedMicro: 100,
  fundedAtMs: 7,
  leftMicro: 25,
  spendPerDayMicro: 50,
  daySpentMicro: 10,
  spendPerWeekMicro: 200,
  weekSpentMicro: 60,
  spendPerMonthMicro: 1000,
  monthSpentMicro: 990,
  today: createCalendar(UTC).at(NOON_MS),
};

describe('what an account has spent', () => {
  it('is of its credits, and of its limits per day, week and month, with their ends', () => {
    expect(spendingOf(ACCOUNT)).to.deep.equal([
      { of: 'credits', usedMicro: 75, limitMicro: 100, period: '7 100', opensAtMs: null },
      { of: 'day', usedMicro: 10, limitMicro: 50, period: '2026-12-31 50', opensAtMs: Date.UTC(2027, 0, 1) },
      { of: 'week', usedMicro: 60, limitMicro: 200, period: '2974 200', opensAtMs: Date.UTC(2027, 0, 4) },
      { of: 'month', usedMicro: 990, limitMicro: 1000, period: '2026-12 1000', opensAtMs: Date.UTC(2027, 0, 1) },
    ]);
  });

  for (const { name, account } of [
    {
      name: 'no credits and no limits',
      account: { fundedMicro: null, spendPerDayMicro: null, spendPerWeekMicro: null, spendPerMonthMicro: null },
    },
    {
      name: 'credits and limits of nothing',
      account: { fundedMicro: 0, spendPerDayMicro: 0, spendPerWeekMicro: 0, spendPerMonthMicro: 0 },
    },
  ]) {
    it(`is no share of ${name}`, () => {
      expect(spendingOf({ ...ACCOUNT, ...account })).to.deep.equal([]);
    });
  }

  it('is nothing of credits that were given back, and more than all of a debt', () => {
    const [more] = spendingOf({ ...ACCOUNT, leftMicro: 120 });
    const [less] = spendingOf({ ...ACCOUNT, leftMicro: -10 });
    expect([more, less].map((spending) => spending && percentOf(spending))).to.deep.equal([0, 110]);
  });

  for (const { used, level } of [
    { used: 79, level: undefined },
    { used: 80, level: 80 },
    { used: 94, level: 80 },
    { used: 95, level: 95 },
    { used: 100, level: 100 },
    { used: 130, level: 100 },
  ]) {
    it(`has at ${used} % reached ${level ?? 'no threshold'}`, () => {
      const spending = { of: 'day', usedMicro: used, limitMicro: 100, period: '', opensAtMs: 0 } as const;
      expect(reachedBy(spending, [80, 95, 100])).to.equal(level);
    });
  }
});
