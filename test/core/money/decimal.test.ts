import { expect } from 'chai';
import * as fc from 'fast-check';
import { formatAmount, parseAmount, parseDecimal, parseSignedAmount } from '../../../src/core/money/decimal.ts';
import { runs } from '../../support/property.ts';

describe('a decimal number', () => {
  const read: { text: string; decimals: number; value: bigint }[] = [
    { text: '0', decimals: 12, value: 0n },
    { text: '0.15', decimals: 12, value: 150_000_000_000n },
    { text: '2.50', decimals: 12, value: 2_500_000_000_000n },
    { text: '007', decimals: 0, value: 7n },
    { text: '0.000000000001', decimals: 12, value: 1n },
    { text: '999999999.999999999999', decimals: 12, value: 999_999_999_999_999_999_999n },
  ];
  for (const { text, decimals, value } of read) {
    it(`${text} is exactly ${value} of 10^-${decimals}`, () => expect(parseDecimal(text, decimals)).to.equal(value));
  }

  const refused = [
    '',
    ' 1',
    '1 ',
    '1\n',
    '.5',
    '5.',
    '.',
    '+1',
    '-1',
    '1e3',
    '0x10',
    '1,5',
    '1_000',
    '1.2.3',
    'NaN',
    '٣',
    '1000000000',
    '0.0000000000001',
  ];
  for (const text of refused) {
    it(`is not ${JSON.stringify(text)}`, () => expect(parseDecimal(text, 12)).to.equal(undefined));
  }
});

describe('an amount', () => {
  const amounts: { text: string; micro: number }[] = [
    { text: '0.00', micro: 0 },
    { text: '10.00', micro: 10_000_000 },
    { text: '0.000001', micro: 1 },
    { text: '0.10', micro: 100_000 },
    { text: '0.125', micro: 125_000 },
    { text: '1.2345', micro: 1_234_500 },
    { text: '999999999.999999', micro: 999_999_999_999_999 },
  ];
  for (const { text, micro } of amounts) {
    it(`of ${micro} millionths is written and read as ${text}`, () => {
      expect(formatAmount(micro)).to.equal(text);
      expect(parseAmount(text)).to.equal(micro);
    });
  }

  it('may be written shorter than it is shown', () => {
    expect(parseAmount('10')).to.equal(10_000_000);
    expect(parseAmount('10.5')).to.equal(10_500_000);
  });

  it('with more than 6 decimals is refused, also when they are zeros', () => {
    expect(parseAmount('0.0000001')).to.equal(undefined);
    expect(parseAmount('1.0000000')).to.equal(undefined);
  });

  it('may be below zero only where that is asked for', () => {
    expect(parseAmount('-2.5')).to.equal(undefined);
    expect(parseSignedAmount('-2.5')).to.equal(-2_500_000);
    expect(parseSignedAmount('2.5')).to.equal(2_500_000);
    expect(Object.is(parseSignedAmount('-0'), 0)).to.equal(true);
    for (const text of ['-', '--1', '-+1', '- 1', '−1']) expect(parseSignedAmount(text)).to.equal(undefined);
  });

  it('below zero is written with a sign, also when it is less than one', () => {
    expect(formatAmount(-2_500_000)).to.equal('-2.50');
    expect(formatAmount(-1)).to.equal('-0.000001');
    expect(formatAmount(-0)).to.equal('0.00');
  });

  it('that is no safe integer is not written', () => {
    for (const micro of [0.5, NaN, Infinity, 2 ** 53]) expect(() => formatAmount(micro)).to.throw(RangeError);
  });

  it('is read as what was written, whatever it is', () => {
    const limit = 999_999_999_999_999;
    fc.assert(
      fc.property(fc.integer({ min: -limit, max: limit }), (micro) => {
        const text = formatAmount(micro);
        expect(text).to.match(/^-?\d+\.\d{2,6}$/);
        expect(parseSignedAmount(text)).to.equal(micro);
      }),
      runs(500),
    );
  });
});
