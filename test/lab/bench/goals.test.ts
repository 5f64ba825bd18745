import { expect } from 'chai';
import { assess, describeGoals, GOALS, type Goal } from './goals.ts';
import { toLoads, GROUPS, type GroupName } from './groups.ts';
import { createResults } from './results.ts';
import type { Stage } from './stage.ts';

const TIMES: Goal = {
  name: 'half of the other',
  atMost: 0.5,
  value: (at) => at('a load', 'one', 'ms') / at('a load', 'other', 'ms'),
};

describe('the goals of the bench', () => {
  it('compare what was measured in one round, and show the median and the ends of the rounds', () => {
    const results = createResults();
    const add = (target: string, ...all: number[]) =>
      all.forEach((ms, index) => results.add(index + 1, 'a load', target, { ms }));
    add('one', 1, 40, 3);
    add('other', 10, 100, 5);
    expect(assess([TIMES], results)).to.deep.equal([['half of the other', '0.50', '0.40', '0.10', '0.60', 'yes']]);
    expect(assess([{ ...TIMES, atMost: 0.3 }], results)[0]?.at(-1)).to.equal('no');
  });

  it('leave out a round in which one of the two has failed', () => {
    const results = createResults();
    results.add(1, 'a load', 'one', { ms: 1 });
    results.add(2, 'a load', 'one', { ms: 2 });
    results.add(2, 'a load', 'other', { ms: 5 });
    results.add(3, 'a load', 'other', { ms: 9 });
    expect(assess([TIMES], results)[0]?.slice(2, 5)).to.deep.equal(['0.40', '0.40', '0.40']);
  });

  it('are not reached and not missed where nothing was measured', () => {
    const results = createResults();
    expect(assess([TIMES], results)).to.deep.equal([['half of the other', '0.50', '–', '–', '–', '–']]);
    expect(describeGoals(results)).to.equal('');
  });

  it('take nothing that no load measures', () => {
    const loads = toLoads(Object.keys(GROUPS) as GroupName[], {} as Stage, true);
    const measured = new Set(loads.flatMap(({ name, targets }) => targets.map((target) => `${name}: ${target}`)));
    const missing: string[] = [];
    for (const { value } of GOALS) {
      value((load, target) => {
        if (!measured.has(`${load}: ${target}`)) missing.push(`${load}: ${target}`);
        return 1;
      });
    }
    expect(missing).to.deep.equal([]);
  });
});
