import type { KeyLimits } from '../../src/core/money/limits.ts';
import { expect } from 'chai';
import { ADMIT_ALL, createAdmission, isLimited, type Admission, type Ask } from '../../src/accounts/admission.ts';
import { createRateLimits } from '../../src/accounts/rates.ts';
import type { GroupId } from '../../src/contract/ids.ts';
import { ApiError } from '../../src/core/errors.ts';
import { WHOLE_GATEWAY } from '../../src/core/ids.ts';
import { createPrices } from '../../src/core/money/pricing.ts';
import type { RateStanding } from '../../src/core/money/rates.ts';
import { UTC } from '../../src/core/time.ts';
import { createCalendar } from '../../src/store/calendar.ts';
import type { StoredKey } from '../../src/core/books/keys.ts';
import type { Usage } from '../../src/contract/types.ts';
import { newGroupId, newStoredGroup, newStoredKey, NO_LIMITS } from '../support/keys.ts';

const GROUP_ID = newGroupId();
const NOW_MS = Date.UTC(2026, 10, 21, 12);
/** Two millionths a token of input, ten a token of output. */
const PRICES = createPrices({
  currency: 'USD',
  models: {
    'paid*': { input: '2', output: '10' },
    dear: { input: '20', output: '5' },
    cheap: { input: '1', output: '1' },
  },
});
const ASK: Ask = {
  model: 'paid',
  backendModel: 'llama',
  estimatedInputTokens: 1000,
  maxOutputTokens: 100,
  choices: 1,
  inputSize: { mediaTokens: 0 },
};
const USAGE: Usage = {
  input_tokens: 300,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 320,
};

/** Of a key with 5 requests and 10,000 tokens per minute, of which this one was the last request. */
const STANDING: RateStanding = {
  minute: 1,
  requests: 5,
  tokens: 10,
  requestsPerMinute: 5,
  tokensPerMinute: 10_000,
  resetMs: 1000,
};

const EXCEEDED = { kind: 'refused', code: 'rate_limit_exceeded', rates: STANDING } as const;

describe('the admission of managed keys', () => {
  let admission: Admission;
  /** As the store shows it when it is asked again. */
  let stored: StoredKey | undefined;

  let counted: [keyId: string, tokens: number][];

  beforeEach(() => {
    const nowMs = (): number => NOW_MS;
    counted = [];
    admission = createAdmission({
      accounts: { findKey: () => Promise.resolve(stored) },
      rateLimits: createRateLimits({
        accounts: {
          takeRate(keyId, tokens) {
            counted.push([keyId, tokens]);
            return Promise.resolve({ rates: STANDING });
          },
          findRate: () => Promise.resolve(undefined),
        },
        nowMs,
      }),
      prices: { present: PRICES },
      defaultMaxOutputTokens: 4096,
      nowMs,
    });
  });

  function keyWith(key: Partial<StoredKey>, limits: Partial<KeyLimits> = {}): StoredKey {
    const plain = newStoredKey(key);
    return { ...plain, limits: { ...plain.limits, ...limits } };
  }

  async function refusal(call: () => unknown): Promise<ApiError> {
    let thrown: unknown;
    try {
      await call();
    } catch (error) {
      thrown = error;
    }
    expect(thrown).to.be.instanceOf(ApiError);
    return thrown as ApiError;
  }

  describe('looks at the model', () => {
    const cases: readonly { models: readonly string[] | null; model?: string; isAllowed: boolean }[] = [
      { models: null, isAllowed: true },
      { models: ['paid'], isAllowed: true },
      { models: ['llama'], isAllowed: true },
      { models: ['other', 'll*'], isAllowed: true },
      { models: ['other', 'pai'], isAllowed: false },
      { models: [], isAllowed: false },
    ];
    for (const { models, isAllowed } of cases) {
      it(`and ${isAllowed ? 'lets' : 'does not let'} a key for ${JSON.stringify(models)} in`, async () => {
        const key = keyWith({ models });
        expect(admission.offers(key, ASK.model, ASK.backendModel)).to.equal(isAllowed);
        if (isAllowed) return void admission.admit(key, ASK);
        const { code, param, message } = await refusal(() => admission.admit(key, ASK));
        expect({ code, param }).to.deep.equal({ code: 'model_not_found', param: 'model' });
        expect(message).to.equal('The model does not exist, or the API key may not use it.');
      });
    }

    it('before the rate', async () => {
      const key = keyWith({ models: [] }, { requestsPerMinute: 5 });
      await admission.admit({ ...key, models: null }, ASK).explain(EXCEEDED);
      expect((await refusal(() => admission.admit({ ...key, models: null }, ASK))).code).to.equal(
        'rate_limit_exceeded',
      );
      expect((await refusal(() => admission.admit(key, ASK))).code).to.equal('model_not_found');
    });
  });

  describe('of a model without a price', () => {
    const free: Ask = { ...ASK, model: 'llama' };
    const limited = [
      { name: 'credits', key: () => keyWith({ balanceMicro: 1_000_000 }) },
      { name: 'no credits left', key: () => keyWith({ balanceMicro: 0 }) },
      { name: 'a limit of spending per day', key: () => keyWith({}, { spendPerDayMicro: 5 }) },
      { name: 'a limit of spending per week', key: () => keyWith({}, { spendPerWeekMicro: 5 }) },
      { name: 'a limit of spending per month', key: () => keyWith({}, { spendPerMonthMicro: 5 }) },
    ];
    for (const { name, key } of limited) {
      it(`is refused to a key with ${name}`, async () => {
        const { code, param, message } = await refusal(() => admission.admit(key(), free));
        expect({ code, param }).to.deep.equal({ code: 'forbidden', param: 'model' });
        expect(message).to.include('has no price');
        expect(admission.offers(key(), 'llama', 'llama')).to.equal(false);
        expect(admission.offers(key(), 'paid', 'llama')).to.equal(true);
      });
    }

    it('holds and charges nothing', async () => {
      const key = keyWith({}, { requestsPerMinute: 5 });
      const admitted = admission.admit(key, free);
      expect(admitted.hold).to.deep.equal({ keyId: key.keyId, heldMicro: 0, interruptedCostMicro: null, tokens: 1100 });
      expect(admitted.costOf(USAGE, { model: null })).to.equal(null);
    });
  });

  it('holds the estimated input and the allowed output, and charges what was used', async () => {
    const key = keyWith({ balanceMicro: 5 });
    const admitted = admission.admit(key, ASK);
    // 1000 × 2 + 100 × 10, and 1000 × 2
    expect(admitted.hold).to.deep.equal({
      keyId: key.keyId,
      heldMicro: 3000,
      interruptedCostMicro: 2000,
      tokens: 1100,
    });
    expect(admitted.costOf(USAGE, { model: null })).to.equal(800);
  });

  it('holds all that a request allows, and the default where it names no limit', () => {
    const outputOf = (ask: Partial<Ask>) => {
      const { hold } = admission.admit(keyWith({ balanceMicro: 5 }), { ...ASK, ...ask, estimatedInputTokens: 0 });
      return hold?.tokens;
    };
    expect(outputOf({ maxOutputTokens: 1_000_000 })).to.equal(1_000_000);
    expect(outputOf({ maxOutputTokens: 0 })).to.equal(0);
    expect(outputOf({ maxOutputTokens: 100, choices: 3 })).to.equal(300);
    expect(outputOf({ maxOutputTokens: null, choices: 2 })).to.equal(8192);
  });

  it('charges the price of the model that answered where that is higher', () => {
    const admitted = admission.admit(keyWith({ balanceMicro: 5 }), ASK);
    // 300 × 20 + 20 × 5 is more than 300 × 2 + 20 × 10.
    expect(admitted.costOf(USAGE, { model: 'dear' })).to.equal(6100);
    expect(admitted.costOf(USAGE, { model: 'cheap' })).to.equal(800);
    expect(admitted.costOf(USAGE, { model: 'llama' })).to.equal(800);
    expect(admitted.costOf(USAGE, { model: 'of no price' })).to.equal(800);
  });

  it('charges the price of the name that a request moves to, if the key may use it and the hold covers it', () => {
    const key = keyWith({ balanceMicro: 5, models: ['paid', 'dear', 'cheap'] });
    const admitted = admission.admit(key, ASK);
    const ask = (model: string) => ({ ...ASK, model, backendModel: model });
    expect(admitted.reroute(ask('dear'))).to.equal(false);
    expect(admitted.reroute(ask('of no price'))).to.equal(false);
    expect(admitted.reroute(ask('paid-but-not-for-this-key'))).to.equal(false);
    expect(admitted.costOf(USAGE, { model: null })).to.equal(800);
    expect(admitted.reroute(ask('cheap'))).to.equal(true);
    expect(admitted.costOf(USAGE, { model: null })).to.equal(320);
    expect(admitted.costOf(USAGE, { model: 'dear' })).to.equal(6100);
    expect(admitted.reroute(ASK)).to.equal(true);
    expect(admitted.costOf(USAGE, { model: null })).to.equal(800);
  });

  describe('lets a request move', () => {
    const cheap: Ask = { ...ASK, model: 'cheap' };
    // 1000 of input and 100 of output are held: 3000 millionths, and 1100 tokens.
    const cases: readonly { what: string; to: Ask; paid: boolean; counted: boolean }[] = [
      { what: 'with what is held', to: ASK, paid: true, counted: true },
      { what: 'with more output', to: { ...ASK, maxOutputTokens: 101 }, paid: false, counted: false },
      { what: 'with more choices', to: { ...ASK, choices: 2 }, paid: false, counted: false },
      { what: 'with more output for less', to: { ...cheap, maxOutputTokens: 2000 }, paid: true, counted: false },
      { what: 'with too much output for less', to: { ...cheap, maxOutputTokens: 2001 }, paid: false, counted: false },
      { what: 'without a limit of the output', to: { ...ASK, maxOutputTokens: null }, paid: false, counted: false },
      { what: 'with little more input', to: { ...ASK, estimatedInputTokens: 1250 }, paid: true, counted: true },
      { what: 'with more input', to: { ...ASK, estimatedInputTokens: 1251 }, paid: false, counted: false },
    ];
    for (const { what, to, paid, counted: isCounted } of cases) {
      it(`${what}: ${paid} for credits, ${isCounted} for tokens per minute`, () => {
        const moves = (key: StoredKey) => admission.admit(key, ASK).reroute(to);
        expect(moves(keyWith({ balanceMicro: 5 }))).to.equal(paid);
        expect(moves(keyWith({}, { tokensPerMinute: 10_000 }))).to.equal(isCounted);
        expect(moves(keyWith({}, { requestsPerMinute: 5 }))).to.equal(true);
      });
    }
  });

  describe('of a request that costs nothing', () => {
    const { model, backendModel } = ASK;

    it('takes one request and no tokens out of the minute, also of a key without credits', async () => {
      const key = keyWith({ balanceMicro: 0 }, { requestsPerMinute: 5 });
      const headers = await admission.admitFree(key, { model, backendModel });
      expect(headers).to.include({ 'x-ratelimit-limit-requests': '5', 'x-ratelimit-remaining-requests': '0' });
      expect(counted).to.deep.equal([[key.keyId, 0]]);
    });

    it('needs no price', async () => {
      await admission.admitFree(keyWith({ balanceMicro: 5 }), { model: 'llama', backendModel });
    });

    it('takes no model that the key may not use, and nothing out of the minute for it', async () => {
      const key = keyWith({ models: ['other'] }, { requestsPerMinute: 5 });
      const refused = await admission.admitFree(key, { model, backendModel }).catch((error: unknown) => error);
      expect(refused).to.include({ code: 'model_not_found', param: 'model' });
      expect(counted).to.deep.equal([]);
    });
  });

  const outputs: readonly { name: string; ask: Partial<Ask>; tokens: number }[] = [
    { name: 'the default where the request names no limit', ask: { maxOutputTokens: null }, tokens: 5096 },
    { name: 'all that is allowed', ask: { maxOutputTokens: 50_000 }, tokens: 51_000 },
    { name: 'the output of all choices', ask: { choices: 3 }, tokens: 1300 },
  ];
  for (const { name, ask, tokens } of outputs) {
    it(`takes ${name} out of the tokens of the minute, and holds as much`, async () => {
      const key = keyWith({}, { tokensPerMinute: 10_000 });
      const { hold } = admission.admit(key, { ...ASK, ...ask });
      expect(hold).to.include({ tokens, heldMicro: 2000 + (tokens - 1000) * 10 });
    });
  }

  describe('explains what the store has refused', () => {
    const rows: readonly {
      refused: 'insufficient_credits' | 'spend_limit_exceeded';
      key: StoredKey;
      ofGroup?: GroupId;
      said: string;
    }[] = [
      {
        refused: 'insufficient_credits',
        key: keyWith({ balanceMicro: 2001 }),
        said:
          'The request may cost up to 0.003 USD, and the API key has 0.002001 USD left. Send a lower max_output_tokens to ' +
          'reserve less.',
      },
      {
        refused: 'insufficient_credits',
        key: keyWith({ group: newStoredGroup({ groupId: GROUP_ID, balanceMicro: 1234 }) }),
        ofGroup: GROUP_ID,
        said: 'The request may cost up to 0.003 USD, and the group of the API key has 0.001234 USD left.',
      },
      {
        refused: 'spend_limit_exceeded',
        key: keyWith({
          group: newStoredGroup({
            groupId: GROUP_ID,
            daySpentMicro: 1,
            limits: { ...NO_LIMITS, spendPerDayMicro: 2999 },
          }),
        }),
        ofGroup: GROUP_ID,
        said:
          'The request may cost up to 0.003 USD. Of the 0.002999 USD which the group of the API key may spend per day, ' +
          '0.002998 USD is left until 2026-11-22T00:00:00.000Z. Send a lower max_output_tokens to reserve less.',
      },
      {
        refused: 'spend_limit_exceeded',
        key: keyWith({
          gateway: newStoredGroup({
            groupId: WHOLE_GATEWAY,
            heldMicro: 1000,
            limits: { ...NO_LIMITS, spendPerWeekMicro: 3000 },
          }),
        }),
        ofGroup: WHOLE_GATEWAY,
        said:
          'The request may cost up to 0.003 USD. Of the 0.003 USD which the whole gateway may spend per week, ' +
          '0.002 USD is left until 2026-11-23T00:00:00.000Z.',
      },
      {
        refused: 'insufficient_credits',
        key: keyWith({ balanceMicro: 1234 }),
        said: 'The request may cost up to 0.003 USD, and the API key has 0.001234 USD left.',
      },
      {
        refused: 'spend_limit_exceeded',
        key: keyWith({ daySpentMicro: 500, heldMicro: 200 }, { spendPerDayMicro: 1000, spendPerMonthMicro: 9_000_000 }),
        said:
          'The request may cost up to 0.003 USD. Of the 0.001 USD which the API key may spend per day, 0.0003 USD is ' +
          'left until 2026-11-22T00:00:00.000Z.',
      },
      {
        refused: 'spend_limit_exceeded',
        key: keyWith({ monthSpentMicro: 5000 }, { spendPerDayMicro: 1000, spendPerMonthMicro: 4000 }),
        said:
          'The request may cost up to 0.003 USD. Of the 0.004 USD which the API key may spend per month, 0.00 USD is ' +
          'left until 2026-12-01T00:00:00.000Z.',
      },
      {
        refused: 'spend_limit_exceeded',
        key: keyWith(
          { today: createCalendar(UTC).at(Date.UTC(2026, 11, 31)), weekSpentMicro: 900, monthSpentMicro: 900 },
          { spendPerWeekMicro: 1000, spendPerMonthMicro: 2000 },
        ),
        said:
          'The request may cost up to 0.003 USD. Of the 0.001 USD which the API key may spend per week, 0.0001 USD is ' +
          'left until 2027-01-04T00:00:00.000Z.',
      },
      { refused: 'spend_limit_exceeded', key: keyWith({}), said: 'The spend limit has been reached.' },
    ];
    for (const { refused, key, ofGroup, said } of rows) {
      it(`with: ${said}`, async () => {
        stored = key;
        const admitted = admission.admit(keyWith({}), ASK);
        const { code, status, message } = await admitted.explain({
          kind: 'refused',
          code: refused,
          ...(ofGroup && { ofGroup }),
        });
        expect({ code, status, message }).to.deep.equal({ code: refused, status: 402, message: said });
      });
    }

    const faults: readonly { name: string; key: StoredKey | undefined; said: string }[] = [
      { name: 'deleted', key: undefined, said: 'The API key is not valid.' },
      { name: 'disabled', key: keyWith({ isDisabled: true }), said: 'The API key is disabled.' },
      { name: 'expired', key: keyWith({ expiresAtMs: NOW_MS }), said: 'The API key has expired.' },
    ];
    for (const { name, key, said } of faults) {
      it(`where the key was ${name} meanwhile`, async () => {
        stored = key;
        const admitted = admission.admit(keyWith({}), ASK);
        expect(await admitted.explain({ kind: 'refused', code: 'invalid_api_key' })).to.include({
          code: 'invalid_api_key',
          status: 401,
          message: said,
        });
      });
    }
  });

  describe('of a request that nobody can price', () => {
    const limited = [
      { name: 'credits', key: () => keyWith({ balanceMicro: 1_000_000 }) },
      { name: 'a limit of spending', key: () => keyWith({}, { spendPerMonthMicro: 5 }) },
      { name: 'a list of models', key: () => keyWith({ models: ['*'] }) },
    ];
    for (const { name, key } of limited) {
      it(`is refused to a key with ${name}, and says why`, async () => {
        const { code, message } = await refusal(() => admission.admitUnmetered(key()));
        expect(code).to.equal('forbidden');
        expect(message).to.match(
          /^The API key, its group or the whole gateway has credits, a spend limit or a list of models, and .* is not known here\./,
        );
      });
    }

    it('counts against the requests of the minute alone', async () => {
      const key = keyWith({}, { requestsPerMinute: 5, tokensPerMinute: 10_000 });
      expect(await admission.admitUnmetered(key)).to.include({
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-remaining-tokens': '9990',
      });
      expect(counted).to.deep.equal([[key.keyId, 0]]);
    });
  });

  it('says how the key stands in its minute when the request was accepted', () => {
    const admitted = admission.admit(keyWith({}), ASK);
    expect(admitted.taken(STANDING).headers).to.include({ 'x-ratelimit-remaining-tokens': '9990' });
    expect(admitted.taken(undefined).headers).to.deep.equal({});
  });

  it('explains a rate that the store has refused, and refuses the next one by itself', async () => {
    const key = keyWith({}, { requestsPerMinute: 5 });
    const { code, message } = await admission.admit(key, ASK).explain(EXCEEDED);
    expect({ code, message }).to.deep.equal({
      code: 'rate_limit_exceeded',
      message: 'The API key has 5 requests per minute. Try again in 1 s.',
    });
    expect((await refusal(() => admission.admit(key, ASK))).message).to.equal(message);
  });

  it('never lets a caller without a key in by mistake', () => {
    expect(() => admission.admit(undefined, ASK)).to.throw('without a key');
    expect(() => admission.offers(undefined, 'm', 'm')).to.throw('without a key');
  });
});

describe('the admission where the gateway issues no keys', () => {
  it('lets all in, takes nothing, and says nothing', async () => {
    const admitted = ADMIT_ALL.admit(undefined, ASK);
    expect(admitted.hold).to.equal(undefined);
    expect(admitted.taken(STANDING).headers).to.deep.equal({});
    expect(admitted.costOf(USAGE, { model: null })).to.equal(null);
    expect(await ADMIT_ALL.admitUnmetered(undefined)).to.deep.equal({});
    expect(ADMIT_ALL.offers(undefined, 'm', 'm')).to.equal(true);
  });
});

describe('a key that has funds or limits', () => {
  const cases: { what: string; key: StoredKey | undefined; expected: boolean }[] = [
    { what: 'one where the gateway issues no keys', key: undefined, expected: false },
    { what: 'one without any', key: newStoredKey(), expected: false },
    { what: 'one without credits left', key: newStoredKey({ balanceMicro: 0 }), expected: true },
    { what: 'one with a list of models', key: newStoredKey({ models: ['*'] }), expected: true },
    ...Object.keys(NO_LIMITS).map((limit) => ({
      what: `one with ${limit}`,
      key: newStoredKey({ limits: { ...NO_LIMITS, [limit]: 1 } }),
      expected: true,
    })),
  ];
  for (const { what, key, expected } of cases) {
    it(`is ${expected ? '' : 'not '}${what}`, () => {
      expect(isLimited(key)).to.equal(expected);
    });
  }
});
