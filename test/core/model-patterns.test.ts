import { expect } from 'chai';
import * as fc from 'fast-check';
import { matchesModel, patternsOf } from '../../src/core/model-patterns.ts';
import { cpuTimeMs } from '../support/cpu-time.ts';
import { runs } from '../support/property.ts';

describe('the pattern of a model', () => {
  const cases: { pattern: string; fits: string[]; others: string[] }[] = [
    { pattern: 'gpt-4o', fits: ['gpt-4o'], others: ['gpt-4o-mini', 'gpt-4', 'GPT-4o', ''] },
    { pattern: '*', fits: ['', 'anything', '*'], others: [] },
    { pattern: 'gpt-4o*', fits: ['gpt-4o', 'gpt-4o-mini'], others: ['gpt-4', 'x-gpt-4o'] },
    { pattern: '*-mini', fits: ['-mini', 'gpt-4o-mini'], others: ['gpt-4o-mini-high'] },
    { pattern: 'a*b*c', fits: ['abc', 'a-b-c', 'abbbc', 'abcbc'], others: ['ac', 'acb', 'abcd', 'a-c'] },
    { pattern: 'ab*ba', fits: ['abba', 'ab-ba'], others: ['aba'] },
    { pattern: '*ab*ab', fits: ['abab', 'ababab', '-ab-ab'], others: ['ab', 'aab'] },
    { pattern: 'a**b', fits: ['ab', 'a-b'], others: ['a'] },
    // No other character has a meaning.
    { pattern: 'gpt-4.1*', fits: ['gpt-4.1', 'gpt-4.1-nano'], others: ['gpt-4o1'] },
    { pattern: '(a+)+$', fits: ['(a+)+$'], others: ['aa'] },
  ];
  for (const { pattern, fits, others } of cases) {
    it(`${pattern} fits what it says`, () => {
      expect(fits.filter((name) => !matchesModel(pattern, name))).to.deep.equal([]);
      expect(others.filter((name) => matchesModel(pattern, name))).to.deep.equal([]);
    });
  }

  it('means what the regular expression means', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 });
    const name = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 10 });
    fc.assert(
      fc.property(text, name, (pattern, name) => {
        const expression = new RegExp(`^${pattern.replaceAll('*', '.*')}$`);
        expect(matchesModel(pattern, name)).to.equal(expression.test(name));
      }),
      runs(2000),
    );
  });

  it('is compared in time that does not grow with every star of it', () => {
    const name = 'a'.repeat(10_000);
    const startedMs = cpuTimeMs();
    // As a regular expression each of them would take hours.
    expect(matchesModel(`${'*a'.repeat(200)}*b*c`, name)).to.equal(false);
    expect(matchesModel(`${'*a*'.repeat(200)}b*c*c`, `${name}c`)).to.equal(false);
    expect(cpuTimeMs() - startedMs, 'milliseconds of CPU').to.be.below(300);
  });

  it('says more, the more of it is no star', () => {
    const found = patternsOf(['*', 'abc', 'a*b*', '*-long-*'].map((name) => [name, name] as const));
    expect(found.map(({ value, length }) => [value, length])).to.deep.equal([
      ['*-long-*', 6],
      ['a*b*', 2],
      ['*', 0],
    ]);
  });
});
