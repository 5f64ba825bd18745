import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ConfigError, readConfig } from '../../src/config/config.ts';
import { costOfTokens } from '../../src/core/money/pricing.ts';
import { createCurrentFiles } from '../../src/config/current-files.ts';
import type { Environment } from '../../src/config/settings.ts';

const PRICE = { input: '2.50', cached_input: '1.25', output: '10.00' };
const FLEX = { ...PRICE, service_tier: 'flex' };

describe('PRICES_FILE', () => {
  let folder: string;
  let path: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'prices-'));
    path = join(folder, 'prices.json');
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function write(content: unknown): void {
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  }

  function writeModels(models: unknown): void {
    write({ currency: 'USD', models });
  }

  function problemsOf(env: Environment): readonly string[] {
    try {
      readConfig(env);
    } catch (error) {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    }
    return [];
  }

  it('gives the models their prices', () => {
    writeModels({ 'gpt-4o*': PRICE });
    const { prices } = readConfig({ PRICES_FILE: path });
    const price = prices?.find('gpt-4o-mini', 'gpt-4o-mini');
    // 1 × 1.25 + 1 × 2.50 + 1 × 10.00 = 13.75
    expect(price && costOfTokens(price, { inputTokens: 2, cachedTokens: 1, outputTokens: 1 })).to.equal(14);
    expect(prices).to.include({ currency: 'USD', modelCount: 1 });
  });

  const refused: { name: string; content: unknown; lines: RegExp[] }[] = [
    { name: 'what is not JSON', content: '{', lines: [/^is not valid JSON$/] },
    { name: 'a list', content: [], lines: [/^the file must be object$/] },
    { name: 'nothing', content: {}, lines: [/^the file must have currency$/, /^the file must have models$/] },
    { name: 'no model', content: { currency: 'USD', models: {} }, lines: [/^models is not valid\. The prices by /] },
    {
      name: 'a property that does not exist',
      content: { currency: 'USD', models: { m: PRICE }, model: {} },
      lines: [/^the file must not have "model"$/],
    },
    {
      name: 'a time zone that does not exist',
      content: { currency: 'USD', time_zone: 'Europe/Nowhere', models: { m: PRICE } },
      lines: [/^time_zone must be the name of a time zone, such as "Europe\/Berlin"$/],
    },
    {
      name: 'a strange currency',
      content: { currency: 'US dollar', models: { m: PRICE } },
      lines: [/^currency is not valid\. The name of the currency unit\.$/],
    },
  ];
  const refusedModels: { name: string; models: unknown; lines: RegExp[] }[] = [
    {
      name: 'a price that is a number',
      models: { 'org/model-4.1~x': { ...PRICE, input: 2.5 } },
      lines: [
        /^models\["org\/model-4\.1~x"\]\.input must be in quotes, as in "2\.50", since a JSON number is a float$/,
      ],
    },
    {
      name: 'a price below zero',
      models: { m: { ...PRICE, output: '-1' } },
      lines: [/^models\["m"\]\.output is not valid\. A decimal number in quotes, with at most 9 digits /],
    },
    {
      name: 'a price with an exponent',
      models: { m: { ...PRICE, cached_input: '1e3' } },
      lines: [/^models\["m"\]\.cached_input is not valid\. A decimal number in quotes, /],
    },
    {
      name: 'a price with 13 decimals',
      models: { m: { ...PRICE, input: '0.0000000000001' } },
      lines: [/^models\["m"\]\.input is not valid\. /],
    },
    {
      name: 'a price of null',
      models: { m: { ...PRICE, input: null } },
      lines: [/^models\["m"\]\.input must be string$/],
    },
    { name: 'half a price', models: { m: { input: '1' } }, lines: [/^models\["m"\] must have output$/] },
    { name: 'a bare price', models: { m: '1' }, lines: [/^models\["m"\] must be object$/] },
    {
      name: 'a misspelt price',
      models: { m: { ...PRICE, cachedInput: '1' } },
      lines: [/^models\["m"\] must not have "cachedInput"$/],
    },
    {
      name: 'a tier that is none',
      models: { m: { ...PRICE, tiers: [PRICE] } },
      lines: [/^models\["m"\]\.tiers\.0 must have a service_tier or above_tokens of its own$/],
    },
    {
      name: 'two prices of one tier',
      models: { m: { ...PRICE, tiers: [FLEX, { ...FLEX, above_tokens: 9 }, FLEX] } },
      lines: [/^models\["m"\]\.tiers\.2 must have a service_tier or above_tokens of its own$/],
    },
    {
      name: 'two prices of one tier under its two names',
      models: { m: { ...PRICE, tiers: ['fast', 'priority'].map((name) => ({ ...FLEX, service_tier: name })) } },
      lines: [/^models\["m"\]\.tiers\.1 must have a service_tier or above_tokens of its own$/],
    },
    {
      name: 'another price of the default tier',
      models: { m: { ...PRICE, tiers: [{ ...FLEX, service_tier: 'auto' }] } },
      lines: [/^models\["m"\]\.tiers\.0 must have a service_tier or above_tokens of its own$/],
    },
    {
      name: 'a name with a line break',
      models: { 'a\nb': PRICE },
      lines: [/^models must have names of 1 to 256 characters, none of them a control character$/],
    },
    { name: 'an empty name', models: { '': PRICE }, lines: [/^models must have names of 1 to 256 characters/] },
  ];
  for (const { name, content, lines } of [
    ...refused,
    ...refusedModels.map(({ models, ...rest }) => ({ ...rest, content: { currency: 'USD', models } })),
  ]) {
    it(`with ${name} stops the start and says so`, () => {
      write(content);
      const problems = problemsOf({ PRICES_FILE: path });
      expect(problems).to.have.length(lines.length);
      for (const [index, line] of lines.entries()) {
        expect(problems[index]).to.match(/^PRICES_FILE: /);
        expect(problems[index]?.slice('PRICES_FILE: '.length)).to.match(line);
      }
    });
  }

  it('that cannot be read stops the start', () => {
    expect(problemsOf({ PRICES_FILE: join(folder, 'absent.json') })).to.deep.equal(['PRICES_FILE: cannot be read']);
  });

  it('that is a folder, or anything else without an end, stops the start', () => {
    expect(problemsOf({ PRICES_FILE: folder })).to.deep.equal(['PRICES_FILE: is not a file']);
    expect(problemsOf({ PRICES_FILE: '/dev/zero' })).to.deep.equal(['PRICES_FILE: is not a file']);
  });

  it('that is too large stops the start', () => {
    write(`{"currency": "USD", "models": {"m": {"input": "1", "output": "1"}}}${' '.repeat(1_048_576)}`);
    expect(problemsOf({ PRICES_FILE: path })).to.deep.equal(['PRICES_FILE: is larger than 1048576 bytes']);
  });

  it('tells its mistakes beside those of the other settings', () => {
    writeModels({ m: { input: 1, output: '1' } });
    const problems = problemsOf({ PRICES_FILE: path, PORT: 'x' });
    expect(problems.map((line) => line.split(':')[0])).to.deep.equal(['PORT', 'PRICES_FILE']);
  });

  it('tells twenty mistakes, and how many more there are', () => {
    writeModels(Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`m${index}`, 1])));
    const problems = problemsOf({ PRICES_FILE: path });
    expect(problems).to.have.length(21);
    expect(problems.at(-1)).to.equal('PRICES_FILE: has 10 more mistakes');
  });

  it('tells only the first mistake of a large file, since all of them together would take minutes', () => {
    writeModels(Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`m${index}`, 1])));
    expect(problemsOf({ PRICES_FILE: path })).to.deep.equal([
      'PRICES_FILE: models is not valid. The prices by model name, or by a pattern in which * matches any text.',
    ]);
  });

  it('has lines of bounded length, whatever the names in it', () => {
    writeModels({ ['x'.repeat(100_000)]: 1 });
    for (const line of problemsOf({ PRICES_FILE: path })) expect(line.length).to.be.below(400);
  });

  describe('when it is read again', () => {
    let lines: { level: string; fields: Readonly<Record<string, unknown>>; message: string }[];

    beforeEach(() => {
      lines = [];
    });

    function open(env: Environment) {
      const files = createCurrentFiles({
        ...readConfig(env),
        log: {
          info: (fields, message) => lines.push({ level: 'info', fields, message }),
          error: (fields, message) => lines.push({ level: 'error', fields, message }),
        },
      });
      return { prices: files.prices, reload: () => files.reload({}) };
    }

    it('gives new requests the new prices, while running ones keep theirs', () => {
      writeModels({ m: PRICE });
      const { prices, reload } = open({ PRICES_FILE: path });
      const before = prices.present?.find('m', 'm');
      write({ currency: 'EUR', models: { m: { input: '3', output: '15' }, 'n*': PRICE } });
      reload();
      const tokens = { inputTokens: 1000, cachedTokens: 0, outputTokens: 0 };
      const after = prices.present?.find('m', 'm');
      expect(before && costOfTokens(before, tokens)).to.equal(2500);
      expect(after && costOfTokens(after, tokens)).to.equal(3000);
      expect(prices.present?.currency).to.equal('EUR');
      expect(lines).to.have.length(1);
      expect(lines[0]?.level).to.equal('info');
    });

    it('says which prices have changed, which are new and which are gone', () => {
      writeModels({ m: PRICE, same: PRICE, gone: PRICE });
      const { reload } = open({ PRICES_FILE: path });
      write({ currency: 'EUR', models: { m: { input: '3', output: '15' }, same: PRICE, 'new-*': PRICE } });
      reload();
      const before = { input: '2.50', cached_input: '1.25', cache_write: '2.50', output: '10.00' };
      const after = { input: '3.00', cached_input: '3.00', cache_write: '3.00', output: '15.00' };
      expect(lines[0]?.fields).to.deep.equal({
        models: 3,
        currency: 'EUR',
        former_currency: 'USD',
        changes: [
          { model: 'm', from: before, to: after },
          { model: 'gone', from: before, to: null },
          { model: 'new-*', from: null, to: before },
        ],
      });
      reload();
      expect(lines[1]?.fields).to.deep.equal({ models: 3, currency: 'EUR', changes: [] });
    });

    it('names no more than 50 changes in a line', () => {
      writeModels({ m: PRICE });
      const { reload } = open({ PRICES_FILE: path });
      writeModels({ m: PRICE, ...Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`m${index}`, PRICE])) });
      reload();
      expect(lines[0]?.fields['changes']).to.have.length(50);
      expect(lines[0]?.fields['more_changes']).to.equal(10);
    });

    it('takes away the prices that are in it no more', () => {
      writeModels({ m: PRICE, n: PRICE });
      const { prices, reload } = open({ PRICES_FILE: path });
      writeModels({ m: PRICE });
      reload();
      expect(prices.present?.find('n', 'n')).to.equal(undefined);
    });

    for (const { name, content, problem } of [
      {
        name: 'a mistake',
        content: '{"currency": "USD", "models": {"m": {"input": 3, "output": "1"}}}',
        problem: /quotes/,
      },
      { name: 'half of its text', content: '{"currency": "USD", "mod', problem: /is not valid JSON/ },
      { name: 'nothing in it', content: '', problem: /is not valid JSON/ },
    ]) {
      it(`with ${name} leaves the prices as they were and says what is wrong`, () => {
        writeModels({ m: PRICE });
        const { prices, reload } = open({ PRICES_FILE: path });
        const before = prices.present?.find('m', 'm');
        write(content);
        reload();
        expect(prices.present?.find('m', 'm')).to.equal(before);
        expect(prices.present?.currency).to.equal('USD');
        expect(lines).to.have.length(1);
        expect(lines[0]).to.include({ level: 'error' });
        expect(JSON.stringify(lines[0]?.fields)).to.match(problem);
      });
    }

    it('after it was removed leaves the prices as they were, and takes those of a later one', () => {
      writeModels({ m: PRICE });
      const { prices, reload } = open({ PRICES_FILE: path });
      const before = prices.present?.find('m', 'm');
      rmSync(path);
      reload();
      expect(prices.present?.find('m', 'm')).to.equal(before);
      writeModels({ n: PRICE });
      reload();
      expect(prices.present?.find('m', 'm')).to.equal(undefined);
      expect(lines.map(({ level }) => level)).to.deep.equal(['error', 'info']);
    });

    it('changes nothing where there is none', () => {
      const { prices, reload } = open({});
      reload();
      expect(prices.present?.find('m', 'm')).to.equal(undefined);
      expect(prices.present).to.equal(null);
      expect(lines.map(({ level }) => level)).to.deep.equal(['info']);
    });
  });
});
