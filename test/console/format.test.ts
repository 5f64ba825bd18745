import { expect } from 'chai';
import { formatCount, formatCredits, formatMs, formatShort } from '../../src/console/format.js';

describe('the numbers of the console', () => {
  const cases: readonly [format: (value: number) => string, value: number, text: string][] = [
    [formatMs, 0, '0 ms'],
    [formatMs, 9.94, '9.9 ms'],
    [formatMs, 9.95, '10 ms'],
    [formatMs, 999.4, '999 ms'],
    [formatMs, 999.5, '1.00 s'],
    [formatMs, 9994, '9.99 s'],
    [formatMs, 9995, '10.0 s'],
    [formatMs, 59_940, '59.9 s'],
    [formatMs, 59_995, '1 min 0 s'],
    [formatMs, 119_700, '2 min 0 s'],
    [formatMs, 3_725_000, '62 min 5 s'],
    [formatCount, 1_234_567, '1,234,567'],
    [formatShort, 1_234_567, '1.2M'],
    [formatShort, 999, '999'],
    [formatCredits, 0, '0.00'],
    [formatCredits, 1, '0.000001'],
    [formatCredits, 12_500_000, '12.50'],
    [formatCredits, -1_234_567_890, '-1,234.56789'],
    [formatCredits, Number.MAX_SAFE_INTEGER, '9,007,199,254.740991'],
    [formatCredits, -8_007_199_254_740_989, '-8,007,199,254.740989'],
    [formatCredits, 0.5, '0.000001'],
  ];
  for (const [format, value, text] of cases) {
    it(`${format.name} shows ${value} as ${text}`, () => {
      expect(format(value)).to.equal(text);
    });
  }
});
