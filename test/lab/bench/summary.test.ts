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
  it('has medians of what the guide shows', () => {
    const results = createResults();
    const add = (target: string, ...micros: number[]) =>
      micros.forEach((value, index) => results.add(index + 1, 'JSON at 1', target, { 'CPU µs per request': value }));
    add('http-proxy', 90, 100, 900);
    add('gateway', 500, 10, 600);
    results.add(1, 'memory', 'gateway', { 'KB per stream of 1000': 63.2 });
    const { tables, machine } = summarize({ ...RUN, results });
    expect(tables.throughput.rows[0]).to.deep.equal(['per request, JSON at 1', '100', '–', '–', '500', '–', '–']);
    expect(tables.memory.rows[0]).to.deep.equal(['KB for each of 1,000 open streams', '–', '–', '63.2']);
    expect(machine).to.include({ cores: 2, fsyncP50Ms: '0.50' });
  });

  it('has a figure for each column of each row', () => {
    const { tables } = summarize({ ...RUN, results: createResults() });
    for (const { columns, rows } of Object.values(tables)) {
      for (const row of rows) expect(row).to.have.lengthOf(columns.length);
    }
  });
});
