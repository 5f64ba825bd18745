import { expect } from 'chai';
import { createRateLimits, type RateLimits, type RateLimitedKey, type RateCharge } from '../../src/accounts/rates.ts';
import type { GroupId } from '../../src/contract/ids.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { RateCorrection } from '../../src/core/money/rates.ts';
import type { StoredKey } from '../../src/core/books/keys.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/core/books/store.ts';
import { newDraft, newOutcome } from '../support/records.ts';
import { NO_LIMITS, newGroupDraft, newKeyDraft } from '../support/keys.ts';

/** The beginning of a minute. */
const MINUTE_MS = 1_790_000_040_000;

describe('rate limits', () => {
  let nowMs: number;
  let store: Store;
  let limits: RateLimits;
  let accepts: number;

  beforeEach(async () => {
    nowMs = MINUTE_MS;
    accepts = 0;
    store = await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, clock: () => nowMs });
    limits = createRateLimits({ accounts: store, nowMs: () => nowMs });
  });
  afterEach(() => store.close());

  function keyWith(requestsPerMinute: number | null, tokensPerMinute: number | null = null): Promise<StoredKey> {
    return store.createKey(newKeyDraft({ limits: { ...NO_LIMITS, requestsPerMinute, tokensPerMinute } }));
  }

  function keyOf(groupId: GroupId): Promise<StoredKey> {
    return store.createKey(newKeyDraft({ groupId }));
  }

  interface Taken extends Pick<RateCharge, 'headers'> {
    /** Ends the record after so many tokens. Resolves with what was corrected. */
    use(tokens: number): Promise<RateCorrection | null>;
  }

  /** As a request takes it that is to have a record. */
  async function take(key: RateLimitedKey, tokens: number): Promise<Taken> {
    const { keyId } = key;
    limits.check(key, tokens);
    accepts += 1;
    const hold = { keyId, heldMicro: 0, interruptedCostMicro: null, tokens };
    const draft = newDraft({ hold, createdAtMs: nowMs });
    const acceptance = await store.accept(draft);
    if (acceptance.kind === 'accepted') {
      const taken = limits.taken(keyId, tokens, acceptance.rates);
      return {
        headers: taken.headers,
        async use(used) {
          const correction = taken.correct(used);
          await store.finish(draft.requestId, newOutcome(), correction);
          return correction;
        },
      };
    }
    expect(acceptance).to.include({ kind: 'refused', code: 'rate_limit_exceeded' });
    throw limits.explain(keyId, tokens, 'rates' in acceptance ? acceptance.rates : undefined);
  }

  async function refusal(key: RateLimitedKey, tokens = 1): Promise<ApiError> {
    const thrown = await take(key, tokens).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(thrown).to.be.instanceOf(ApiError);
    const error = thrown as ApiError;
    expect(error.code).to.equal('rate_limit_exceeded');
    return error;
  }

  async function remaining(key: RateLimitedKey): Promise<readonly (number | undefined)[]> {
    const { requests, tokens } = await limits.show(key.keyId);
    return [requests?.remaining, tokens?.remaining];
  }

  it('let as many requests through as the key has, and say so in headers', async () => {
    const key = await keyWith(2);
    nowMs += 500;
    expect((await take(key, 1)).headers).to.deep.equal({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-reset-requests': '1m0s',
    });
    expect((await take(key, 1)).headers['x-ratelimit-remaining-requests']).to.equal('0');
    const { message, headers } = await refusal(key);
    expect(message).to.equal('The API key has 2 requests per minute. Try again in 60 s.');
    expect(headers).to.deep.equal({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '1m0s',
      'retry-after': '60',
    });
  });

  it('let as many tokens through as the key has, and say so in headers', async () => {
    const key = await keyWith(null, 100);
    nowMs += 58_800;
    expect((await take(key, 60)).headers).to.deep.equal({
      'x-ratelimit-limit-tokens': '100',
      'x-ratelimit-remaining-tokens': '40',
      'x-ratelimit-reset-tokens': '2s',
    });
    const { message, headers } = await refusal(key, 41);
    expect(message).to.equal(
      'The API key has 100 tokens per minute, 40 are left, and the request needs about 41. Try again in 2 s.',
    );
    expect(headers).to.include({ 'x-ratelimit-remaining-tokens': '40', 'retry-after': '2' });
    await take(key, 40);
  });

  it('say nothing where there is no limit', async () => {
    const key = await keyWith(null);
    expect((await take(key, 1_000_000_000)).headers).to.deep.equal({});
    expect(await remaining(key)).to.deep.equal([undefined, undefined]);
  });

  it('of a group hold for its keys together, and say whose they are', async () => {
    const limitsOfGroup = { ...NO_LIMITS, requestsPerMinute: 2, tokensPerMinute: 100 };
    const { groupId } = await store.createGroup(newGroupDraft({ limits: limitsOfGroup }));
    const [one, other] = [await keyOf(groupId), await keyOf(groupId)];
    await take(one, 60);
    const { message } = await refusal(other, 50);
    expect(message).to.match(
      /^The group of the API key has 100 tokens per minute, 40 are left, .* Try again in 60 s\.$/,
    );
    expect((await refusal(other, 101)).message).to.contain('the group of the API key has 100 per minute');
    const { headers } = await take(other, 40);
    expect(headers).to.include({ 'x-ratelimit-limit-requests': '2', 'x-ratelimit-remaining-tokens': '0' });
    const asked = accepts;
    expect((await refusal(other, 0)).message).to.match(/^The group of the API key has 2 requests per minute\./);
    expect(accepts, 'a refusal that is remembered').to.equal(asked);
    await store.updateKey(other.keyId, { groupId: null });
    await take({ ...other, group: null }, 0);
  });

  it('of a group get back what was not used', async () => {
    const { groupId } = await store.createGroup(newGroupDraft({ limits: { ...NO_LIMITS, tokensPerMinute: 100 } }));
    await (await take(await keyOf(groupId), 90)).use(10);
    expect((await limits.show(groupId)).tokens).to.deep.equal({ limit: 100, remaining: 90 });
  });

  it('take nothing at all for a request that one of them refuses', async () => {
    const key = await keyWith(5, 100);
    await take(key, 100);
    await refusal(key, 1);
    expect(await remaining(key)).to.deep.equal([4, 0]);
  });

  for (const { name, requests, tokens } of [
    { name: 'tokens', requests: 5, tokens: 100 },
    { name: 'requests', requests: 0, tokens: null },
  ] as const) {
    it(`say of a request that needs more ${name} than there are in a minute that it never runs`, async () => {
      const { message, headers } = await refusal(await keyWith(requests, tokens), 101);
      expect(message).to.match(/^The request needs about \d+ (?:tokens|requests), .*: it can never run\./);
      expect(headers).to.include({ 'x-should-retry': 'false' });
      expect(headers).not.to.have.property('retry-after');
    });
  }

  it('do not mix up two keys', async () => {
    const [one, other] = [await keyWith(1), await keyWith(1)];
    await take(one, 1);
    await take(other, 1);
    await refusal(one);
  });

  describe('at the edge of a minute', () => {
    it('begin anew', async () => {
      const key = await keyWith(1, 10);
      nowMs += 59_999;
      const { headers } = await take(key, 10);
      expect(headers['x-ratelimit-reset-requests']).to.equal('1ms');
      await refusal(key);
      nowMs += 1;
      await take(key, 10);
      await refusal(key);
    });

    const lates: readonly { name: string; end: (taken: Taken) => Promise<unknown> }[] = [
      { name: 'what was estimated before turns out to be less', end: (taken) => taken.use(0) },
      { name: 'what was estimated before turns out to be more', end: (taken) => taken.use(50) },
    ];
    for (const { name, end } of lates) {
      it(`do not change when ${name}`, async () => {
        const key = await keyWith(3, 100);
        const taken = await take(key, 10);
        nowMs += 60_000;
        await take(key, 10);
        await end(taken);
        expect(await remaining(key)).to.deep.equal([2, 90]);
      });
    }

    it('hold nobody up for longer when the clock was set back', async () => {
      const key = await keyWith(1);
      await take(key, 1);
      nowMs -= 3_600_000;
      await take(key, 1);
      expect((await refusal(key)).headers['retry-after']).to.equal('60');
    });
  });

  for (const { used, left } of [
    { used: 0, left: 100 },
    { used: 15, left: 85 },
    { used: 40, left: 60 },
    { used: 130, left: 0 },
  ]) {
    it(`count ${used} tokens that were used in the place of 40 that were expected`, async () => {
      const key = await keyWith(2, 100);
      const taken = await take(key, 40);
      await taken.use(used);
      expect(await remaining(key)).to.deep.equal([1, left]);
    });
  }

  it('take a debt of tokens into account for those who ask for some, and not for those who ask for none', async () => {
    const key = await keyWith(null, 100);
    await (await take(key, 40)).use(130);
    await refusal(key, 1);
    await take(key, 0);
  });

  it('follow a change of the key with the next request', async () => {
    const key = await keyWith(1);
    await take(key, 1);
    await refusal(key);
    const change = async (requestsPerMinute: number) =>
      (await store.updateKey(key.keyId, { limits: { requestsPerMinute } })) ?? key;
    const { headers } = await take(await change(2), 1);
    expect(headers['x-ratelimit-remaining-requests']).to.equal('0');
    await refusal(await change(1));
  });

  it('decide a race in the order in which the requests came', async () => {
    const key = await keyWith(3, 100);
    const asks = Array.from({ length: 10 }, () =>
      take(key, 1).then(
        () => 'taken',
        () => 'refused',
      ),
    );
    const expected = [...Array.from({ length: 3 }, () => 'taken'), ...Array.from({ length: 7 }, () => 'refused')];
    expect(await Promise.all(asks)).to.deep.equal(expected);
    expect(await remaining(key)).to.deep.equal([0, 97]);
  });

  describe('of a key that was refused a moment ago', () => {
    it('do not ask the store again', async () => {
      const key = await keyWith(1);
      await take(key, 1);
      const first = await refusal(key);
      nowMs += 199;
      const second = await refusal(key);
      expect(accepts).to.equal(1);
      expect(second.message).to.equal(first.message);
      expect(second.headers['x-ratelimit-reset-requests']).to.equal('1m0s');
    });

    it('do not ask the store again in the same minute, since requests are never given back', async () => {
      const key = await keyWith(1);
      await take(key, 1);
      nowMs += 59_999;
      await refusal(key);
      expect(accepts).to.equal(1);
      nowMs += 1;
      await take(key, 1);
    });

    it('ask the store again after 200 ms for tokens, which another process may give back', async () => {
      const key = await keyWith(null, 100);
      await take(key, 100);
      await refusal(key);
      nowMs += 199;
      await refusal(key);
      expect(accepts).to.equal(1);
      nowMs += 1;
      await refusal(key);
      expect(accepts).to.equal(2);
    });

    it('ask the store for a request that may need less', async () => {
      const key = await keyWith(null, 100);
      await take(key, 60);
      await refusal(key, 41);
      expect((await take(key, 40)).headers['x-ratelimit-remaining-tokens']).to.equal('0');
    });

    it('ask the store when something was given back', async () => {
      const key = await keyWith(null, 100);
      const taken = await take(key, 60);
      await refusal(key, 41);
      await taken.use(10);
      await take(key, 90);
    });

    it('ask the store again in the next minute, and after the clock was set back', async () => {
      const key = await keyWith(1);
      nowMs += 59_900;
      await take(key, 1);
      await refusal(key);
      nowMs += 100;
      await take(key, 1);
      await refusal(key);
      nowMs -= 3_600_000;
      await take(key, 1);
    });
  });

  describe('of requests without a record', () => {
    it('count with those of the others, and take no tokens', async () => {
      const key = await keyWith(2, 100);
      await take(key, 100);
      expect((await limits.take(key)).headers).to.include({
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-remaining-tokens': '0',
      });
      const refused = await limits.take(key).catch((error: unknown) => error);
      expect(refused).to.include({ code: 'rate_limit_exceeded' });
      expect(await remaining(key)).to.deep.equal([0, 0]);
    });

    it('are refused to a key that was deleted meanwhile', async () => {
      const key = await keyWith(2);
      await store.deleteKey(key.keyId);
      expect(await limits.take(key).catch((error: unknown) => error)).to.include({ code: 'invalid_api_key' });
      expect(await limits.show(key.keyId)).to.deep.equal({ resetMs: 0 });
    });

    it('are not counted where nothing is limited', async () => {
      const key = await keyWith(null);
      await store.deleteKey(key.keyId);
      expect((await limits.take(key)).headers).to.deep.equal({});
    });
  });

  for (const { whose, requestsPerMinute, tokensPerMinute, ofGroup, most } of [
    { whose: 'few requests', requestsPerMinute: 2, tokensPerMinute: null, ofGroup: null, most: 600 },
    { whose: 'many requests', requestsPerMinute: 100, tokensPerMinute: null, ofGroup: null, most: 1000 },
    { whose: 'tokens', requestsPerMinute: null, tokensPerMinute: 5, ofGroup: null, most: 600 },
    { whose: 'the requests of its group', requestsPerMinute: null, tokensPerMinute: null, ofGroup: 70, most: 700 },
    { whose: 'nothing', requestsPerMinute: null, tokensPerMinute: null, ofGroup: null, most: Infinity },
  ])
    it(`of ${whose} let ${most} repeated requests through in a minute`, async () => {
      const group = await store.createGroup(newGroupDraft({ limits: { ...NO_LIMITS, requestsPerMinute: ofGroup } }));
      const key = ofGroup === null ? await keyWith(requestsPerMinute, tokensPerMinute) : await keyOf(group.groupId);
      const repeat = (): void => {
        limits.checkRepeats(key);
        limits.countRepeat(key);
      };
      for (let n = 0; n < Math.min(most, 2000); n++) repeat();
      if (most === Infinity) return;
      nowMs += 20_000;
      expect(repeat).to.throw(ApiError, `The API key may repeat requests ${most} times a minute. Try again in 40 s.`);
      nowMs += 40_000;
      repeat();
    });

  it('correct nothing in the store when the minute is over, or there is nothing to correct', async () => {
    const key = await keyWith(null, 100);
    expect(await (await take(key, 10)).use(10)).to.equal(null);
    expect(await (await take(await keyWith(5), 10)).use(3)).to.equal(null);
    expect(await (await take(key, 10)).use(7)).to.deep.equal({ minute: MINUTE_MS / 60_000, tokens: -3 });
    const late = await take(key, 10);
    nowMs += 60_001;
    expect(await late.use(3)).to.equal(null);
  });
});
