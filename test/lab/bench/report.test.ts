import { expect } from 'chai';
import type { Load } from './load.ts';
import { describePairs, describeRun, formatNumber, formatTable } from './report.ts';
import { createResults } from './results.ts';
import { percentile } from './statistics.ts';

const machine = { node: 'v24', cpu: 'a CPU', cores: 2, isPinned: true, fsyncP50Ms: 0.5, fsyncP99Ms: 2 };

describe('the report of the bench', () => {
  it('shows medians of the rounds beside http-proxy, for those that were measured', () => {
    const load: Load = {
      name: 'a load',
      columns: [{ figure: 'requests/s', beside: '× http-proxy' }, { figure: 'delay ms' }],
      measure: () => Promise.resolve({}),
    };
    const results = createResults();
    const add = (target: string, delayMs: number, ...perSecond: number[]) =>
      perSecond.forEach((value, index) =>
        results.add(index + 1, load.name, target, { 'requests/s': value, 'delay ms': delayMs }),
      );
    add('http-proxy', 1.5, 900, 1000, 1200);
    add('gateway', 1.75, 500, 400, 600);

    const text = describeRun({
      machine,
      rounds: 3,
      loads: [load, { ...load, name: 'a load that failed' }],
      results,
      targets: ['http-proxy', 'gateway', 'other'],
    });
    expect(text.split('\n').slice(3)).to.deep.equal([
      '| a load     | requests/s | × http-proxy | delay ms |',
      '|------------|-----------:|-------------:|---------:|',
      '| http-proxy |  1000 ±15% |         1.00 |     1.50 |',
      '| gateway    |   500 ±20% |         0.50 |     1.75 |',
      '',
    ]);
    expect(text).to.include('fsync of the disk: p50 0.50 ms, p99 2.00 ms');
  });

  it('shows the median of what two targets differ by in each round', () => {
    const load: Load = {
      name: 'a load',
      columns: [{ figure: 'requests/s' }, { figure: 'CPU µs per request' }],
      measure: () => Promise.resolve({}),
    };
    const results = createResults();
    for (const [index, [ours, theirs]] of [[10, 10] as const, [30, 20] as const, [44, 40] as const].entries()) {
      results.add(index + 1, load.name, 'gateway', { 'CPU µs per request': ours });
      results.add(index + 1, load.name, 'other', { 'CPU µs per request': theirs });
    }
    results.add(4, load.name, 'gateway', { 'CPU µs per request': 1 });
    expect(describePairs(results, [load], ['gateway', 'other']).split('\n')).to.deep.equal([
      '| gateway × other            | found | from |   to |',
      '|----------------------------|------:|-----:|-----:|',
      '| a load: CPU µs per request |  1.10 | 1.00 | 1.50 |',
      '',
    ]);
    expect(describePairs(results, [load], ['gateway', 'nobody'])).to.equal('');
  });

  it('aligns a table by its widest cells', () => {
    expect(formatTable(['a', 'b'], [['long', '1']])).to.equal('| a    | b |\n|------|--:|\n| long | 1 |');
  });

  it('shows three digits', () => {
    expect([0, 0.123, 12.34, 99.96, 1234.5, Number.NaN].map(formatNumber)).to.deep.equal([
      '0.00',
      '0.12',
      '12.3',
      '100.0',
      '1235',
      '–',
    ]);
  });
});

describe('the statistics of the bench', () => {
  it('find percentiles in any order of the values', () => {
    expect([50, 99, 100].map((percent) => percentile([5, 1, 4, 2, 3], percent))).to.deep.equal([3, 5, 5]);
    expect(percentile([], 50)).to.be.NaN;
  });
});
