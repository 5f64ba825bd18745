import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { createResults } from '../lab/bench/results.ts';
import { summarize } from '../lab/bench/summary.ts';
import { BENCHMARK_PATHS, fillIn, generateBenchmarks, readSummary } from '../support/generate-benchmarks.ts';

describe('the guide on benchmarks', () => {
  it('has the figures of the file that the bench wrote (else: npm run types)', () => {
    const texts = BENCHMARK_PATHS.map((path) => readFileSync(path, 'utf8'));
    expect(texts).to.deep.equal(generateBenchmarks());
  });

  it('has no other figures, which no run would renew', () => {
    const [section] = /^## Benchmarks\n.*?(?=^## )/ms.exec(readFileSync(BENCHMARK_PATHS[0], 'utf8')) ?? [];
    const own = section?.replaceAll(/<!-- bench: .*?<!-- \/bench -->/gs, '');
    expect(own).to.include('`npm run lab bench`');
    expect(own?.match(/\d[\d.]* ?(?:×|%|ms|µs|s|KB|MB|times)(?!\w)/g)).to.equal(null);
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

  for (const { name, text, problem } of [
    {
      name: 'a mark of what is not measured',
      text: '<!-- bench: other -->\n<!-- /bench -->',
      problem: 'figures for "other"',
    },
    { name: 'a table that stands nowhere', text: 'No marks.', problem: 'no text has <!-- bench: machine, ' },
  ]) {
    it(`is refused with ${name}`, () => {
      expect(() => fillIn([text], readSummary())).to.throw(problem);
    });
  }
});

const MACHINE = { node: '', cpu: '', cores: 1, isPinned: true, fsyncP50Ms: 1, fsyncP99Ms: 1 };
