import { expect } from 'chai';
import * as fc from 'fast-check';
import { parseDecimal } from '../../../src/core/money/decimal.ts';
import {
  costOf,
  costOfTokens,
  createPrices,
  holdOf,
  lacksTier,
  MAX_COST_MICRO,
  type Price,
} from '../../../src/core/money/pricing.ts';
import { readUsage } from '../../../src/core/reply/usage.ts';
import type { Usage } from '../../../src/contract/types.ts';
import type { ModelPrice } from '../../../src/contract/settings-types.ts';
import { runs } from '../../support/property.ts';

function priceOf(price: ModelPrice): Price {
  const found = createPrices({ currency: 'USD', models: { m: price } }).find('m', 'm');
  if (found === undefined) throw new Error('the model has no price');
  return found;
}

function usageOf({ input = 0, cached = 0, cacheWrite = 0, output = 0, reasoning = 0 }): Usage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

const CHAT = { input: '2.50', cached_input: '1.25', output: '10.00' };
const SMALL = { input: '0.15', cached_input: '0.075', output: '0.60' };
const NO_CACHE = { input: '3', output: '15' };

describe('the cost of a usage', () => {
  // A price per million tokens is as many millionths per token.
  const cases: { name: string; price: ModelPrice; usage: Usage; micro: number }[] = [
    { name: 'of nothing', price: CHAT, usage: usageOf({}), micro: 0 },
    // 1000 × 2.50 + 500 × 10.00 = 2500 + 5000
    { name: 'of input and output', price: CHAT, usage: usageOf({ input: 1000, output: 500 }), micro: 7500 },
    // (1000 - 400) × 2.50 + 400 × 1.25 + 10 × 10.00 = 1500 + 500 + 100
    {
      name: 'with cached tokens',
      price: CHAT,
      usage: usageOf({ input: 1000, cached: 400, output: 10 }),
      micro: 2100,
    },
    // 1000 × 1.25
    { name: 'with nothing but cached tokens', price: CHAT, usage: usageOf({ input: 1000, cached: 1000 }), micro: 1250 },
    // 100 × 1.25, and nothing below zero for the 900 that cannot be
    {
      name: 'with more cached tokens than input',
      price: CHAT,
      usage: usageOf({ input: 100, cached: 1000 }),
      micro: 125,
    },
    // 1000 × 3 + 1 × 15
    {
      name: 'with cached tokens that have no price of their own',
      price: NO_CACHE,
      usage: usageOf({ input: 1000, cached: 400, output: 1 }),
      micro: 3015,
    },
    // (1000 - 400 - 500) × 2.50 + 400 × 1.25 + 500 × 3.125
    {
      name: 'with cache writes',
      price: { ...CHAT, cache_write: '3.125' },
      usage: usageOf({ input: 1000, cached: 400, cacheWrite: 500 }),
      micro: 2313,
    },
    // 1000 × 2.50
    {
      name: 'with cache writes that have no price of their own',
      price: CHAT,
      usage: usageOf({ input: 1000, cacheWrite: 400 }),
      micro: 2500,
    },
    // 90 × 1.25 + 10 × 3.125, and nothing for the 990 that cannot be
    {
      name: 'with more cache writes than input that is not cached',
      price: { ...CHAT, cache_write: '3.125' },
      usage: usageOf({ input: 100, cached: 90, cacheWrite: 1000 }),
      micro: 144,
    },
    // 0 × 2.50 + 300 × 10.00: the 200 are among the 300
    { name: 'with reasoning', price: CHAT, usage: usageOf({ output: 300, reasoning: 200 }), micro: 3000 },
    // 1 × 0.15 = 0.15
    { name: 'of less than a millionth', price: SMALL, usage: usageOf({ input: 1 }), micro: 1 },
    // 7 × 0.15 = 1.05
    { name: 'of a little more than a millionth', price: SMALL, usage: usageOf({ input: 7 }), micro: 2 },
    // 20 × 0.15 = 3.00 and 5 × 0.60 = 3.00
    { name: 'of whole millionths', price: SMALL, usage: usageOf({ input: 20, output: 5 }), micro: 6 },
    // 1 × 0.15 + 1 × 0.075 + 1 × 0.60 = 0.825; each rounded up alone would be 3
    {
      name: 'that is rounded up once, after the sum',
      price: SMALL,
      usage: usageOf({ input: 2, cached: 1, output: 1 }),
      micro: 1,
    },
    // 3 × 0.1 = 0.3 (0.30000000000000004 in floats), 10 × 0.1 = 1 exactly; 1 × 0.7 + 3 × 0.1 = 1 exactly
    {
      name: 'that floats get wrong',
      price: { input: '0.1', output: '0.7' },
      usage: usageOf({ input: 3, output: 1 }),
      micro: 1,
    },
    // 1 × 0.000000000001, and a million million of them
    {
      name: 'of the finest price',
      price: { input: '0.000000000001', output: '0' },
      usage: usageOf({ input: 1 }),
      micro: 1,
    },
    {
      name: 'of very many tokens at the finest price',
      price: { input: '0.000000000001', output: '0' },
      usage: usageOf({ input: 1_000_000_000_001 }),
      micro: 2,
    },
    {
      name: 'of a free model',
      price: { input: '0', output: '0.00' },
      usage: usageOf({ input: 9, output: 9 }),
      micro: 0,
    },
    // 100000000000 × 10.00 = 10^12
    { name: 'at the maximum', price: CHAT, usage: usageOf({ output: 100_000_000_000 }), micro: MAX_COST_MICRO },
    // 99999999999 × 10.00 + 3 × 2.50 = 999999999990 + 7.5
    {
      name: 'just below the maximum',
      price: CHAT,
      usage: usageOf({ input: 3, output: 99_999_999_999 }),
      micro: 999_999_999_998,
    },
    {
      name: 'of absurd usage, which is the maximum',
      price: { input: '999999999.999999999999', output: '999999999' },
      usage: usageOf({ input: Number.MAX_SAFE_INTEGER, output: Number.MAX_SAFE_INTEGER }),
      micro: MAX_COST_MICRO,
    },
  ];
  for (const { name, price, usage, micro } of cases) {
    it(`${name} is ${micro} millionths`, () => expect(costOf(priceOf(price), usage)).to.equal(micro));
  }

  it('counts details that the backend left out as none', () => {
    const usage = readUsage({ usage: { prompt_tokens: 1000, completion_tokens: 500 } }, undefined);
    // 1000 × 2.50 + 500 × 10.00
    expect(usage && costOf(priceOf(CHAT), usage)).to.equal(7500);
  });

  it('is the least whole number of millionths that is not below the sum of the fractions', () => {
    const digits = (max: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${max}}$`));
    const decimal = fc.oneof(
      digits(4),
      fc.tuple(digits(4), digits(12)).map(([whole, fraction]) => `${whole}.${fraction}`),
    );
    const tokens = fc.nat({ max: 10_000_000 });
    fc.assert(
      fc.property(decimal, decimal, decimal, tokens, tokens, tokens, (input, cached_input, output, a, b, c) => {
        const micro = costOf(priceOf({ input, cached_input, output }), usageOf({ input: a + b, cached: b, output: c }));
        const sum = add(
          add(times(a, toFraction(input)), times(b, toFraction(cached_input))),
          times(c, toFraction(output)),
        );
        expect(Number.isSafeInteger(micro)).to.equal(true);
        expect(BigInt(micro) * sum.over >= sum.of).to.equal(true);
        expect(micro === 0 || BigInt(micro - 1) * sum.over < sum.of).to.equal(true);
      }),
      runs(500),
    );
  });

  it('never shrinks when tokens are added', () => {
    const tokens = fc.nat({ max: Number.MAX_SAFE_INTEGER - 1000 });
    fc.assert(
      fc.property(tokens, tokens, fc.nat({ max: 1000 }), (inputTokens, outputTokens, more) => {
        const counts = { inputTokens, outputTokens, cachedTokens: 0 };
        const cost = costOfTokens(priceOf(CHAT), counts);
        expect(cost).to.be.at.most(MAX_COST_MICRO);
        expect(costOfTokens(priceOf(CHAT), { ...counts, inputTokens: inputTokens + more })).to.be.at.least(cost);
        expect(costOfTokens(priceOf(CHAT), { ...counts, outputTokens: outputTokens + more })).to.be.at.least(cost);
      }),
      runs(500),
    );
  });
});

describe('the hold of a request', () => {
  it('is for its input and its output', () => {
    // 1000 × 2.50 + 100 × 10.00
    expect(holdOf(priceOf(CHAT), { inputTokens: 1000, outputTokens: 100 })).to.equal(3500);
  });

  it('does not hope for the cache', () => {
    const free = { ...CHAT, cached_input: '0' };
    expect(holdOf(priceOf(free), { inputTokens: 1000, outputTokens: 0 })).to.equal(2500);
  });

  const TIERS: ModelPrice = {
    ...CHAT,
    audio_input: '32',
    tiers: [
      { above_tokens: 10_000, input: '5.00', output: '15.00' },
      { service_tier: 'flex', input: '1.25', output: '5.00' },
      { service_tier: 'priority', input: '4.00', output: '20.00' },
    ],
  };
  const holds: { name: string; expected: Parameters<typeof holdOf>[1]; micro: number }[] = [
    {
      name: 'of the default tier',
      expected: { inputTokens: 1000, outputTokens: 0, serviceTier: 'default' },
      micro: 2500,
    },
    {
      name: 'of a tier that may be full',
      expected: { inputTokens: 1000, outputTokens: 0, serviceTier: 'flex' },
      micro: 2500,
    },
    { name: 'of priority', expected: { inputTokens: 1000, outputTokens: 0, serviceTier: 'priority' }, micro: 4000 },
    {
      name: 'of a tier that is named as one with a price',
      expected: { inputTokens: 1000, outputTokens: 0, serviceTier: 'fast' },
      micro: 4000,
    },
    {
      name: 'of the dearest tier, where the backend decides',
      expected: { inputTokens: 1000, outputTokens: 0 },
      micro: 4000,
    },
    {
      name: 'of long requests, if it may be one',
      expected: { inputTokens: 6000, outputTokens: 0, serviceTier: 'default' },
      micro: 30_000,
    },
    {
      name: 'of audio, if there are media',
      expected: { inputTokens: 1000, outputTokens: 0, serviceTier: 'default', hasMedia: true },
      micro: 32_000,
    },
  ];
  for (const { name, expected, micro } of holds) {
    it(`is at the prices ${name}`, () => expect(holdOf(priceOf(TIERS), expected)).to.equal(micro));
  }

  it('fears that all input is written to the cache', () => {
    const dear = { ...CHAT, cache_write: '3.125' };
    expect(holdOf(priceOf(dear), { inputTokens: 1000, outputTokens: 0 })).to.equal(3125);
  });
});

describe('a service tier', () => {
  const price = priceOf({ ...CHAT, tiers: [{ service_tier: 'ultrafast', input: '60', output: '300' }] });

  for (const tier of [undefined, 'auto', 'default', 'on_demand', 'flex', 'ultrafast']) {
    it(`costs no more than is known where it is ${tier}`, () => expect(lacksTier(price, tier)).to.equal(false));
  }

  for (const tier of ['priority', 'fast', 'scale', 'Default', 'Ultrafast', '']) {
    it(`costs nobody knows what where it is "${tier}"`, () => expect(lacksTier(price, tier)).to.equal(true));
  }

  it('costs nobody knows what without a price of the model', () => {
    expect([lacksTier(undefined, 'ultrafast'), lacksTier(undefined, 'flex')]).to.deep.equal([true, false]);
  });
});

describe('the prices of a table', () => {
  /** Which entry of a table, in whose place there is a number, is found. */
  function entryFor(names: string[], model: string, backendModel = model): string | undefined {
    const models = Object.fromEntries(names.map((name, index) => [name, { input: String(index), output: '0' }]));
    const found = createPrices({ currency: 'USD', models }).find(model, backendModel);
    return names.find((_, index) => parseDecimal(String(index), 12) === found?.[0].inputParts);
  }

  it('know how many models they are for, and the currency', () => {
    const prices = createPrices({ currency: 'EUR', models: { a: NO_CACHE, 'b*': NO_CACHE } });
    expect(prices).to.include({ currency: 'EUR', modelCount: 2 });
  });

  const cases: { name: string; names: string[]; model: string; backendModel?: string; entry: string | undefined }[] = [
    { name: 'have none for an unknown model', names: ['a', 'b*'], model: 'c', entry: undefined },
    { name: 'have none for half a name', names: ['gpt-4o'], model: 'gpt-4', entry: undefined },
    { name: 'prefer a name to patterns', names: ['gpt*', 'gpt-4o', 'gpt-4o*'], model: 'gpt-4o', entry: 'gpt-4o' },
    { name: 'prefer the longer pattern', names: ['*', 'gpt-4o*', 'gpt*'], model: 'gpt-4o-mini', entry: 'gpt-4o*' },
    { name: 'do not count stars', names: ['g*', '****'], model: 'gpt', entry: 'g*' },
    { name: 'prefer the first of two alike', names: ['*b', 'a*'], model: 'ab', entry: '*b' },
    {
      name: 'prefer the name that the caller used',
      names: ['llama', 'fast'],
      model: 'fast',
      backendModel: 'llama',
      entry: 'fast',
    },
    {
      name: 'take the name that the backend knows for an alias without a price',
      names: ['llama'],
      model: 'fast',
      backendModel: 'llama',
      entry: 'llama',
    },
    {
      name: 'take a pattern for the name that the backend knows',
      names: ['x*', 'llama*'],
      model: 'fast',
      backendModel: 'llama-3',
      entry: 'llama*',
    },
    {
      name: 'take a pattern for the name that the caller used',
      names: ['x*', 'fast*'],
      model: 'fast-1',
      backendModel: 'llama-3',
      entry: 'fast*',
    },
    {
      name: 'do not let a pattern for all hide the model behind an alias',
      names: ['*', 'llama-3'],
      model: 'fast',
      backendModel: 'llama-3',
      entry: 'llama-3',
    },
    {
      name: 'take no meaning from names that objects have anyway',
      names: ['a'],
      model: 'constructor',
      entry: undefined,
    },
    {
      name: 'know a model of any name',
      names: ['__proto__x', 'constructor'],
      model: 'constructor',
      entry: 'constructor',
    },
  ];
  for (const { name, names, model, backendModel, entry } of cases) {
    it(name, () => expect(entryFor(names, model, backendModel)).to.equal(entry));
  }

  it('are the same each time, after more names than are remembered too', () => {
    const models = { 'gpt*': CHAT, Large: NO_CACHE, '*': SMALL };
    const prices = createPrices({ currency: 'USD', models });
    const pairs = [
      ['gpt-4', 'gpt-4'],
      ['large:8b', 'x'],
      ['x', 'large:8b'],
      ['x', 'x'],
      ...Array.from({ length: 1500 }, (_, index) => [`${index % 2 === 0 ? 'gpt' : 'm'}-${index}`, 'x'] as const),
    ] as const;
    for (const [model, backendModel] of [...pairs, ...pairs.toReversed()]) {
      const alone = createPrices({ currency: 'USD', models }).find(model, backendModel);
      expect(prices.find(model, backendModel), `${model} ${backendModel}`).to.deep.equal(alone);
    }
  });

  describe('of a model whose name differs from a priced one', () => {
    /** What a million tokens of input cost. */
    function priceFor(prices: Record<string, number>, model: string, backendModel = model): number | undefined {
      const models = Object.fromEntries(
        Object.entries(prices).map(([name, input]) => [name, { input: String(input), output: '0' }]),
      );
      const found = createPrices({ currency: 'USD', models }).find(model, backendModel);
      return found && Number(found[0].inputParts / 10n ** 12n);
    }

    const EXPENSIVE = { expensive: 10, '*': 1 };
    const cases: { prices: Record<string, number>; model: string; price: number | undefined }[] = [
      { prices: EXPENSIVE, model: 'Expensive', price: 10 },
      { prices: EXPENSIVE, model: 'expensive:latest', price: 10 },
      { prices: EXPENSIVE, model: 'EXPENSIVE:Latest', price: 10 },
      { prices: EXPENSIVE, model: 'expensive-2026-08-06', price: 10 },
      { prices: EXPENSIVE, model: 'expensive@20260806', price: 10 },
      { prices: EXPENSIVE, model: 'expensive-0613', price: 10 },
      { prices: EXPENSIVE, model: 'expensive-202608', price: 10 },
      { prices: EXPENSIVE, model: 'expensive-001', price: 10 },
      { prices: EXPENSIVE, model: 'expensive@2026-08-06', price: 10 },
      { prices: EXPENSIVE, model: 'expensive-0613:latest', price: 10 },
      { prices: EXPENSIVE, model: 'expensive:8b\nq4', price: 10 },
      // No date of a version: another model may have such a name.
      { prices: EXPENSIVE, model: 'expensive-12', price: 1 },
      { prices: EXPENSIVE, model: 'expensive-12345', price: 1 },
      { prices: EXPENSIVE, model: 'expensive-1234567', price: 1 },
      { prices: EXPENSIVE, model: 'expensive-123456789', price: 1 },
      { prices: EXPENSIVE, model: 'expensive-2026-8-6', price: 1 },
      { prices: EXPENSIVE, model: 'expensive-2026-08', price: 1 },
      { prices: EXPENSIVE, model: 'expensive20260806', price: 1 },
      { prices: EXPENSIVE, model: 'expensive-2026-08-06-mini', price: 1 },
      { prices: EXPENSIVE, model: 'expensive-mini', price: 1 },
      { prices: EXPENSIVE, model: 'other', price: 1 },
      { prices: { cheap: 1, '*': 10 }, model: 'cheap:latest', price: 10 },
      { prices: { expensive: 10 }, model: 'Expensive', price: 10 },
      { prices: { 'Expensive:8B': 10, '*': 1 }, model: 'expensive', price: 10 },
      { prices: { 'm:small': 1, 'm:large': 10 }, model: 'm:other', price: 10 },
      { prices: { 'm:large': 10, 'm:*': 2, '*': 1 }, model: 'm:other', price: 2 },
      { prices: { expensive: 10, 'expensive:latest': 3, '*': 1 }, model: 'expensive:latest', price: 3 },
      { prices: { 'expensive*': 10, '*': 1 }, model: 'EXPENSIVE-2', price: 10 },
      ...[
        'library/expensive',
        'models/Expensive:latest',
        'registry.example:5000/library/expensive',
        '/expensive-0613',
      ].map((model) => ({ prices: EXPENSIVE, model, price: 10 })),
      { prices: { 'expensive*': 10, '*': 1 }, model: 'library/expensive-mini', price: 10 },
      { prices: { 'maker/expensive': 10, '*': 1 }, model: 'expensive', price: 10 },
      { prices: { 'maker/expensive': 10, '*': 1 }, model: 'other/expensive', price: 10 },
      { prices: { 'one/m': 1, 'other/m': 10, '*': 2 }, model: 'm', price: 10 },
      { prices: { cheap: 1, '*': 10 }, model: 'library/cheap', price: 10 },
      { prices: EXPENSIVE, model: 'expensive/other', price: 1 },
      // It has a price or a pattern of its own, or else none.
      { prices: { ...EXPENSIVE, 'library/expensive': 3 }, model: 'library/expensive', price: 3 },
      { prices: { ...EXPENSIVE, 'library/*': 3 }, model: 'library/expensive', price: 3 },
      { prices: { expensive: 10 }, model: 'library/expensive', price: undefined },
      // A pattern with the whole name was written for it.
      { prices: { expensive: 10, 'expensive*': 3 }, model: 'Expensive', price: 3 },
    ];
    for (const { prices, model, price } of cases) {
      it(`are no cheaper than that: ${model} of ${JSON.stringify(prices)}`, () => {
        expect(priceFor(prices, model)).to.equal(price);
      });
    }

    it('are also found by the name that the backend knows', () => {
      expect(priceFor(EXPENSIVE, 'fast', 'Expensive:latest')).to.equal(10);
    });
  });

  describe('of the model that an answer names', () => {
    const PRICED = ['asked', 'dear', 'sized:small', 'sized:large', 'gpt*', '*'];
    const cases: { answeredBy: string; asked?: { model: string; backendModel: string }; entry: string | undefined }[] =
      [
        { answeredBy: 'dear', entry: 'dear' },
        { answeredBy: 'Dear:latest', entry: 'dear' },
        { answeredBy: 'gpt-9', entry: 'gpt*' },
        { answeredBy: 'asked', entry: undefined },
        { answeredBy: 'asked-2026-01-01', entry: undefined },
        { answeredBy: 'Asked:8b', entry: undefined },
        { answeredBy: 'llama', asked: { model: 'asked', backendModel: 'llama' }, entry: undefined },
        { answeredBy: '/models/any.gguf', entry: undefined },
        { answeredBy: 'dear', asked: { model: 'asked', backendModel: 'dear' }, entry: undefined },
        { answeredBy: 'dear', asked: { model: 'dear', backendModel: 'asked' }, entry: undefined },
        { answeredBy: 'dear:8b', asked: { model: 'asked', backendModel: 'dear' }, entry: undefined },
        { answeredBy: 'dear:8b', asked: { model: 'dear', backendModel: 'asked' }, entry: undefined },
        // And not the dearer one of the same name.
        { answeredBy: 'sized:small', entry: 'sized:small' },
      ];
    for (const { answeredBy, asked = { model: 'asked', backendModel: 'asked' }, entry } of cases) {
      it(`are ${entry === undefined ? 'not looked for' : `those of ${entry}`}: ${answeredBy}`, () => {
        const models = Object.fromEntries(
          PRICED.map((name, index) => [name, { input: String(index + 1), output: '0' }]),
        );
        const found = createPrices({ currency: 'USD', models }).findAnswered(answeredBy, asked);
        expect(PRICED.find((_, index) => parseDecimal(String(index + 1), 12) === found?.[0].inputParts)).to.equal(
          entry,
        );
      });
    }
  });

  it('are refused when they do not keep their schema', () => {
    const models = { a: { input: '-1', output: '0' } };
    expect(() => createPrices({ currency: 'USD', models })).to.throw(RangeError);
  });
});

/** As one learns it at school. */
interface Fraction {
  readonly of: bigint;
  readonly over: bigint;
}

function toFraction(text: string): Fraction {
  const [whole = '', fraction = ''] = text.split('.');
  return { of: BigInt(whole + fraction), over: 10n ** BigInt(fraction.length) };
}

function times(tokens: number, { of, over }: Fraction): Fraction {
  return { of: BigInt(tokens) * of, over };
}

function add(one: Fraction, other: Fraction): Fraction {
  return { of: one.of * other.over + other.of * one.over, over: one.over * other.over };
}
