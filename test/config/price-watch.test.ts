import { expect } from 'chai';
import { createPrices } from '../../src/core/money/pricing.ts';
import { watchPrices } from '../../src/config/price-watch.ts';
import { until } from '../support/time.ts';

const PRICE = { input: '2', output: '10' };

describe('watchPrices', () => {
  let others: readonly string[];
  let versions: string[];
  let charged: string | undefined;
  let fails: boolean;
  let said: string[];
  let stop: () => void;

  beforeEach(() => {
    [others, versions, charged, fails, said] = [[], [], undefined, false, []];
  });
  afterEach(() => stop());

  function watch(present = createPrices({ currency: 'USD', models: { m: PRICE } })) {
    const prices = { present };
    stop = watchPrices({
      store: {
        comparePrices(version) {
          versions.push(version);
          return fails ? Promise.reject(new Error('no store')) : Promise.resolve(others);
        },
        noteCurrency(currency) {
          const former = charged;
          charged = currency;
          return Promise.resolve(former === currency ? undefined : former);
        },
      },
      prices,
      log: {
        info: (_fields, message) => said.push(`info: ${message}`),
        warn: (fields, message) => said.push(`warn: ${message} ${JSON.stringify(fields['others'] ?? fields)}`),
      },
      everyMs: 1,
    });
    return prices;
  }

  const rounds = async (more: number) => {
    const before = versions.length;
    await until(() => versions.length > before + more);
  };

  it('says once that others have different prices, again when that changes, and when it is over', async () => {
    watch();
    await rounds(2);
    expect(said).to.deep.equal([]);
    others = ['a'];
    await rounds(3);
    others = ['a', 'b'];
    await rounds(3);
    others = [];
    await rounds(3);
    expect(said).to.deep.equal([
      'warn: other gateways on the database have different prices; give all of them the same PRICES_FILE ["a"]',
      'warn: other gateways on the database have different prices; give all of them the same PRICES_FILE ["a","b"]',
      'info: all gateways on the database have the same prices again',
    ]);
  });

  it('says once that amounts were charged in another currency, at the start and when the file changes', async () => {
    charged = 'EUR';
    const prices: { present: ReturnType<typeof createPrices> | null } = watch();
    await rounds(3);
    prices.present = createPrices({ currency: 'GBP', models: { m: PRICE } });
    await rounds(3);
    const told = 'what was charged, granted and limited keeps its number and is shown in the new one';
    expect(said).to.deep.equal([
      `warn: PRICES_FILE has another currency than before: ${told} {"former_currency":"EUR","currency":"USD"}`,
      `warn: PRICES_FILE has another currency than before: ${told} {"former_currency":"USD","currency":"GBP"}`,
    ]);
  });

  it('knows the same prices again, and others from them', async () => {
    const prices: { present: ReturnType<typeof createPrices> | null } = watch();
    await rounds(1);
    const first = versions.at(-1);
    expect(first).to.match(/^[0-9a-f]{12}$/);
    prices.present = createPrices({ currency: 'USD', models: { m: { ...PRICE } } });
    await rounds(2);
    expect(versions.at(-1)).to.equal(first);
    prices.present = createPrices({ currency: 'USD', models: { m: { ...PRICE, output: '11' } } });
    await rounds(2);
    expect(versions.at(-1)).not.to.equal(first);
    prices.present = null;
    await rounds(2);
    expect(versions.at(-1)).to.equal('none');
  });

  it('goes on when the store cannot be asked', async () => {
    fails = true;
    watch();
    await rounds(2);
    [fails, others] = [false, ['a']];
    await until(() => said.length === 1);
  });
});
