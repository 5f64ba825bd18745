import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { createResults } from '../lab/bench/results.ts';
import { summarize } from '../lab/bench/summary.ts';
import { BENCHMARKS_PATH, fillIn, generateBenchmarks, readSummary } from '../support/generate-benchmarks.ts';

describe('the guide on benchmarks', () => {
  it('has the figures of the file that the bench wrote (else: npm run types)', () => {
    expect(readFileSync(BENCHMARKS_PATH, 'utf8')).to.equal(generateBenchmarks());
  });

  it('has no other figures, which no run would renew, but of what was tried once', () => {
    const own = readFileSync(BENCHMARKS_PATH, 'utf8')
      .replaceAll(/<!-- bench: .*?<!-- \/bench -->/gs, '')
      .replace(/^## What was tried.*/ms, '');
    expect(own.match(/\d[\d.]* ?(?:×|%|ms|µs|s|KB|MB|times)(?!\w)/g)).to.equal(null);
  });

  it('shows what the next run will find as well', () => {
    const { tables, machine } = summarize({
      results: createResults(),
      machine: MACHINE,
      rounds: 1,
      date: '',
      commit: '',
    });
    const { tables: present, machine: now } = readSummary();
    const toNames = (all: typeof tables) =>
      Object.entries(all).map(([name, { columns, rows }]) => [name, columns, rows.map(([row]) => row)]);
    expect(toNames(present)).to.deep.equal(toNames(tables));
    expect(now).to.have.all.keys(machine);
  });

  for (const { name, guide, problem } of [
    {
      name: 'a mark of what is not measured',
      guide: '<!-- bench: other -->\n<!-- /bench -->',
      problem: 'figures for "other"',
    },
    { name: 'a table that stands nowhere', guide: 'No marks.', problem: 'has no <!-- bench: machine, ' },
  ]) {
    it(`is refused with ${name}`, () => {
      expect(() => fillIn(guide, readSummary())).to.throw(problem);
    });
  }
});

const MACHINE = { node: '', cpu: '', cores: 1, isPinned: true, fsyncP50Ms: 1, fsyncP99Ms: 1 };
