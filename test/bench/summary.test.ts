import { expect } from 'chai';
import { createResults } from './results.ts';
import { summarize } from './summary.ts';

const RUN = {
  machine: { node: 'v24', cpu: 'a CPU', cores: 2, isPinned: true, fsyncP50Ms: 0.5, fsyncP99Ms: 2 },
  rounds: 3,
  date: '2027-01-02',
  commit: 'abcdef0',
};

describe('the summary of a run of the bench', () => {
  it('has medians, and ratios of medians, of what the guide shows', () => {
    const results = createResults();
    const add = (target: string, ...perSecond: number[]) =>
      perSecond.forEach((value, index) => results.add(index + 1, 'JSON at 16', target, { 'requests/s': value }));
    add('http-proxy', 900, 1000, 9000);
    add('gateway', 500, 10, 600);
    results.add(1, 'aborts and cancels, ms', 'gateway', { 'cancel answered p50': 1.25, 'cancel answered max': 7 });
    results.add(1, 'memory', 'gateway', { 'KB per stream of 1000': 63.2 });
    const { tables, machine } = summarize({ ...RUN, results });
    expect(tables.throughput.rows[0]).to.deep.equal(['JSON requests/s at 16', '–', '–', '0.50 ×', '–', '–']);
    expect(tables.stopping.rows[1]).to.deep.equal(['cancel → `202`', '1.25', '7.00']);
    expect(tables.memory.rows[0]).to.deep.equal(['KB for each of 1,000 open streams', '–', '–', '63.2']);
    expect(machine).to.include({ cores: 2, fsyncP50Ms: '0.50' });
  });

  it('has a figure for each column of each row', () => {
    const { tables } = summarize({ ...RUN, results: createResults() });
    for (const { columns, rows } of Object.values(tables)) {
      for (const row of rows) expect(row).to.have.lengthOf(columns.length);
    }
  });

  it('draws what was measured alone, in three digits', () => {
    const results = createResults();
    results.add(1, 'JSON within a bound of p99', 'gateway', { 'at 4: requests/s': 1234.5, 'at 4: p99 ms': 2.3456 });
    const { pictures } = summarize({ ...RUN, results });
    const drawn = pictures.flatMap(({ curves }) => curves).filter(({ points }) => points.length > 0);
    expect(drawn).to.deep.equal([{ name: 'gateway', points: [[1230, 2.35]] }]);
  });
});
