import { expect } from 'chai';
import { createCalendar } from '../../src/store/calendar.ts';

interface Case {
  readonly name: string;
  readonly zone: string;
  readonly at: string;
  readonly date: string;
  readonly day: readonly [starts: string, ends: string];
  readonly week: readonly [starts: string, ends: string];
  readonly month: readonly [starts: string, ends: string];
}

const CASES: readonly Case[] = [
  {
    name: 'the last moment of a month in UTC',
    zone: 'UTC',
    at: '2026-04-30T23:59:59.999Z',
    date: '2026-04-30',
    day: ['2026-04-30T00:00Z', '2026-05-01T00:00Z'],
    week: ['2026-04-27T00:00Z', '2026-05-04T00:00Z'],
    month: ['2026-04-01T00:00Z', '2026-05-01T00:00Z'],
  },
  {
    name: 'the last moment of a year',
    zone: 'America/New_York',
    at: '2027-01-01T04:59:59.999Z',
    date: '2026-12-31',
    day: ['2026-12-31T05:00Z', '2027-01-01T05:00Z'],
    week: ['2026-12-28T05:00Z', '2027-01-04T05:00Z'],
    month: ['2026-12-01T05:00Z', '2027-01-01T05:00Z'],
  },
  {
    name: 'a leap day',
    zone: 'Asia/Tokyo',
    at: '2028-02-28T15:00:00.000Z',
    date: '2028-02-29',
    day: ['2028-02-28T15:00Z', '2028-02-29T15:00Z'],
    week: ['2028-02-27T15:00Z', '2028-03-05T15:00Z'],
    month: ['2028-01-31T15:00Z', '2028-02-29T15:00Z'],
  },
  {
    name: 'a day of 23 hours',
    zone: 'Europe/Berlin',
    at: '2026-03-29T12:00:00.000Z',
    date: '2026-03-29',
    day: ['2026-03-28T23:00Z', '2026-03-29T22:00Z'],
    week: ['2026-03-22T23:00Z', '2026-03-29T22:00Z'],
    month: ['2026-02-28T23:00Z', '2026-03-31T22:00Z'],
  },
  {
    name: 'a day of 25 hours',
    zone: 'Europe/Berlin',
    at: '2026-10-25T00:30:00.000Z',
    date: '2026-10-25',
    day: ['2026-10-24T22:00Z', '2026-10-25T23:00Z'],
    week: ['2026-10-18T22:00Z', '2026-10-25T23:00Z'],
    month: ['2026-09-30T22:00Z', '2026-10-31T23:00Z'],
  },
  {
    name: 'a day without midnight',
    zone: 'Africa/Cairo',
    at: '2026-04-24T10:00:00.000Z',
    date: '2026-04-24',
    day: ['2026-04-23T22:00Z', '2026-04-24T21:00Z'],
    week: ['2026-04-19T22:00Z', '2026-04-26T21:00Z'],
    month: ['2026-03-31T22:00Z', '2026-04-30T21:00Z'],
  },
  {
    name: 'a zone with a quarter of an hour',
    zone: 'Asia/Kathmandu',
    at: '2026-06-01T00:00:00.000Z',
    date: '2026-06-01',
    day: ['2026-05-31T18:15Z', '2026-06-01T18:15Z'],
    week: ['2026-05-31T18:15Z', '2026-06-07T18:15Z'],
    month: ['2026-05-31T18:15Z', '2026-06-30T18:15Z'],
  },
  {
    name: 'the zone that is furthest ahead',
    zone: 'Pacific/Kiritimati',
    at: '2026-01-31T10:00:00.000Z',
    date: '2026-02-01',
    day: ['2026-01-31T10:00Z', '2026-02-01T10:00Z'],
    week: ['2026-01-25T10:00Z', '2026-02-01T10:00Z'],
    month: ['2026-01-31T10:00Z', '2026-02-28T10:00Z'],
  },
];

describe('the day of a time zone', () => {
  for (const { name, zone, at, date, day, week, month } of CASES) {
    it(`begins and ends where it does there: ${name}`, () => {
      const found = createCalendar(zone).at(Date.parse(at));
      const ends = [found.day, found.week, found.month].flatMap(({ startsAtMs, endsAtMs }) => [startsAtMs, endsAtMs]);
      expect(found.day.name).to.equal(date);
      expect(ends).to.deep.equal([...day, ...week, ...month].map((text) => Date.parse(text)));
    });
  }

  it('is counted without a gap, whatever the clocks do', () => {
    const calendar = createCalendar('Europe/Berlin');
    const first = calendar.at(Date.UTC(2026, 2, 1));
    let today = first;
    for (let index = 1; index <= 366; index += 1) {
      const next = calendar.at(today.day.endsAtMs);
      expect(next.day).to.include({ number: first.day.number + index, startsAtMs: today.day.endsAtMs });
      for (const per of ['week', 'month'] as const) {
        const isOver = today.day.endsAtMs === today[per].endsAtMs;
        expect(next[per].number - today[per].number, per).to.equal(isOver ? 1 : 0);
      }
      today = next;
    }
  });

  it('is of a zone that exists', () => {
    expect(() => createCalendar('Europe/Nowhere')).to.throw(RangeError);
  });
});
