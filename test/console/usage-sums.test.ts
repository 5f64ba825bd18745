import { expect } from 'chai';
import {
  meanMs,
  ofModel,
  sharesOf,
  spanOf,
  stackOf,
  sumByBackend,
  sumByTime,
  sumOf,
  withStats,
} from '../../src/console/usage-sums.js';

const NOW_MS = Date.parse('2026-03-01T12:34:56Z');
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;

function seconds(date: string): number {
  return Date.parse(date) / 1000;
}

function row(start: number, part: object = {}) {
  const counts = {
    failed: 0,
    cancelled: 0,
    input_tokens: 0,
    cached_tokens: 0,
    cached_share: 0,
    cache_write_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
  };
  return { start, model: 'm', requests: 1, cost: 0, saved: 0, duration_ms: 0, ...counts, ...part };
}

describe('the sums of the usage view', () => {
  const spans = [
    { name: 'day', per: 'hour', from: '2026-02-28T13:00:00Z', until: '2026-03-01T13:00:00Z', parts: 24 },
    { name: 'week', per: 'day', from: '2026-02-23T00:00:00Z', until: '2026-03-02T00:00:00Z', parts: 7 },
    { name: 'month', per: 'day', from: '2026-01-31T00:00:00Z', until: '2026-03-02T00:00:00Z', parts: 30 },
    { name: 'year', per: 'month', from: '2025-04-01T00:00:00Z', until: '2026-04-01T00:00:00Z', parts: 12 },
  ];
  for (const { name, per, from, until, parts } of spans) {
    it(`reach over the last ${name} in ${parts} parts, of which the last one runs`, () => {
      const span = spanOf(name, NOW_MS);
      expect(span).to.deep.equal({ per, from: seconds(from), until: seconds(until) });
      expect(sumByTime([], span)).to.have.length(parts);
    });
  }

  it('begin a new hour with its first moment', () => {
    expect(spanOf('day', Date.parse('2026-03-01T13:00:00Z')).until).to.equal(seconds('2026-03-01T14:00:00Z'));
  });

  it('add up the rows of one time, and leave other times at nothing', () => {
    const span = { per: 'day', from: 0, until: 3 * DAY_S } as const;
    const all = {
      requests: 1,
      failed: 2,
      cancelled: 3,
      input_tokens: 4,
      cached_tokens: 5,
      cache_write_tokens: 3,
      output_tokens: 6,
      reasoning_tokens: 7,
      cost: 8,
      saved: 10,
      duration_ms: 9,
    };
    const twice = Object.fromEntries(Object.entries(all).map(([name, value]) => [name, 2 * value]));
    const nothing = Object.fromEntries(Object.keys(all).map((name) => [name, 0]));
    const parts = sumByTime([row(DAY_S, all), row(DAY_S, { ...all, model: 'other' }), row(5 * DAY_S, all)], span);
    expect(parts).to.deep.equal([
      { start: 0, ...nothing },
      { start: DAY_S, ...twice },
      { start: 2 * DAY_S, ...nothing },
    ]);
    expect(sumOf(parts)).to.deep.equal({ start: 0, ...twice });
  });

  it('know the months by their lengths', () => {
    const starts = sumByTime([], spanOf('year', NOW_MS)).map(({ start }) => new Date(start * 1000).getUTCDate());
    expect(new Set(starts)).to.deep.equal(new Set([1]));
  });

  it('have no mean where there was no request', () => {
    expect(meanMs(row(0, { requests: 0, duration_ms: 0 }))).to.equal(null);
    expect(meanMs(row(0, { requests: 4, duration_ms: 10 }))).to.equal(2.5);
  });

  it('have the times and the refusals of one model, or of all', () => {
    const span = spanOf('week', NOW_MS);
    const parts = sumByTime([], span);
    const start = parts[0]?.start ?? 0;
    const times = { first_token: null, duration: { count: 1, p50_ms: 7, p95_ms: 9 } };
    const stats = {
      latencies: [
        { start: null, model: null, ...times },
        { start, model: null, ...times },
        { start, model: 'm', ...times },
      ],
      rejected: [
        { start, model: null, code: 'invalid_json', count: 2 },
        { start, model: 'm', code: 'rate_limit_exceeded', count: 3 },
      ],
    };
    expect(withStats(parts, stats, null)[0]).to.deep.include({ ...times, rejected: 5 });
    expect(withStats(parts, stats, 'm')[0]).to.deep.include({ ...times, rejected: 3 });
    expect(withStats(parts, stats, 'n')[0]).to.deep.include({ first_token: null, duration: null, rejected: 0 });
    expect(withStats(parts, stats, null)[1]).to.deep.include({ duration: null, rejected: 0 });
    expect(ofModel(stats.rejected, 'm')).to.have.length(1);
  });

  it('add up what each backend read, the one that read most first', () => {
    const counts = { cached_tokens: 50, cached_share: 0.5, reachable_tokens: 80, moved_turns: 1, saved: 10 };
    const [start, later] = [seconds('2026-03-01T00:00:00Z'), seconds('2026-03-02T00:00:00Z')];
    const row = { start, model: 'm', backend: 'gpu-b', input_tokens: 100, ...counts };
    const rows = [
      { ...row, backend: 'gpu-a', input_tokens: 200 },
      row,
      { ...row, model: 'n' },
      { ...row, start: later, cached_tokens: 100 },
    ];
    const sums = sumByBackend(rows);
    expect(sums.map(({ data: _data, ...sum }) => sum)).to.deep.equal([
      { name: 'gpu-b', input_tokens: 300, cached_tokens: 200, reachable_tokens: 240, moved_turns: 3, saved: 30 },
      { name: 'gpu-a', input_tokens: 200, cached_tokens: 50, reachable_tokens: 80, moved_turns: 1, saved: 10 },
    ]);
    expect(sharesOf(sums).map(({ label, valueOf }) => [label, valueOf({ start } as never)])).to.deep.equal([
      ['gpu-b', 0.5],
      ['gpu-a', 0.25],
    ]);
    expect(sums[0]?.data).to.deep.equal([
      { start, cached_share: 0.5 },
      { start: later, cached_share: 1 },
    ]);
  });

  it('stack what has a name, and the rest of all where there is any', () => {
    const [start, later] = [seconds('2026-03-01T00:00:00Z'), seconds('2026-03-02T00:00:00Z')];
    const curve = (name: string | null, ...requests: readonly number[]) => ({
      name,
      data: requests.map((count, at) => ({
        start: [start, later][at] ?? 0,
        requests: count,
        cached_share: count / 10,
        cost: 10 * count,
      })),
    });
    const [part] = sumByTime([], { per: 'day', from: later, until: later + DAY_S });
    const stack = (value: 'requests' | 'cost', ...curves: Parameters<typeof stackOf>[0]) =>
      stackOf(
        curves,
        value,
        new Map([
          [null, 'All'],
          ['k', 'Ada'],
        ]),
      ).map(({ label, valueOf }) => [label, valueOf({ ...part, start: later } as never)]);
    expect(stack('cost', curve(null, 5, 7))).to.deep.equal([['All', 70]]);
    expect(stack('requests', curve(null, 5, 7), curve('k', 5, 7))).to.deep.equal([['Ada', 7]]);
    expect(stack('requests', curve(null, 5, 7), curve('k', 4))).to.deep.equal([
      ['Ada', 0],
      ['others', 7],
    ]);
    const [share] = sharesOf([curve('k', 5, 7)], new Map([['k', 'Ada']]));
    expect([share?.label, share?.valueOf({ ...part, start: later } as never)]).to.deep.equal(['Ada', 0.7]);
  });
});
