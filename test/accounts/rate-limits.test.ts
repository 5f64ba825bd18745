import { expect } from 'chai';
import { openRateLimits, type RateLimits, type RateLimitedKey, type Taken } from '../../src/accounts/rate-limits.ts';
import { ApiError } from '../../src/core/errors.ts';
import type { KeyActivity } from '../../src/store/accounts.ts';
import { newStoredKey } from '../support/keys.ts';

/** The beginning of a minute. */
const MINUTE_MS = 1_790_000_040_000;

describe('rate limits', () => {
  let nowMs: number;
  let limits: RateLimits;

  async function open(activity: readonly KeyActivity[] = []): Promise<void> {
    limits = await openRateLimits({
      accounts: {
        listActivity: (sinceMs) => Promise.resolve(activity.filter(({ firstAtMs }) => firstAtMs >= sinceMs)),
      },
      nowMs: () => nowMs,
    });
  }

  beforeEach(async () => {
    nowMs = MINUTE_MS;
    await open();
  });

  function keyWith(requestsPerMinute: number | null, tokensPerMinute: number | null = null): RateLimitedKey {
    const key = newStoredKey();
    return { ...key, limits: { ...key.limits, requestsPerMinute, tokensPerMinute } };
  }

  async function refusal(key: RateLimitedKey, tokens = 1): Promise<ApiError> {
    const thrown = await limits.take(key, tokens).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(thrown).to.be.instanceOf(ApiError);
    const error = thrown as ApiError;
    expect(error.code).to.equal('rate_limit_exceeded');
    return error;
  }

  async function remaining(key: RateLimitedKey): Promise<readonly (number | undefined)[]> {
    const { requests, tokens } = await limits.show(key);
    return [requests?.remaining, tokens?.remaining];
  }

  it('let as many requests through as the key has, and say so in headers', async () => {
    const key = keyWith(2);
    nowMs += 500;
    expect((await limits.take(key, 1)).headers).to.deep.equal({
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-reset-requests': '1m0s',
    });
    expect((await limits.take(key, 1)).headers['x-ratelimit-remaining-requests']).to.equal('0');
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
    const key = keyWith(null, 100);
    nowMs += 58_800;
    expect((await limits.take(key, 60)).headers).to.deep.equal({
      'x-ratelimit-limit-tokens': '100',
      'x-ratelimit-remaining-tokens': '40',
      'x-ratelimit-reset-tokens': '2s',
    });
    const { message, headers } = await refusal(key, 41);
    expect(message).to.equal(
      'The API key has 100 tokens per minute, 40 are left, and the request needs about 41. Try again in 2 s.',
    );
    expect(headers).to.include({ 'x-ratelimit-remaining-tokens': '40', 'retry-after': '2' });
    await limits.take(key, 40);
  });

  it('say nothing where there is no limit', async () => {
    const key = keyWith(null);
    expect((await limits.take(key, 1_000_000_000)).headers).to.deep.equal({});
    expect(await remaining(key)).to.deep.equal([undefined, undefined]);
  });

  it('take nothing at all for a request that one of them refuses', async () => {
    const key = keyWith(5, 100);
    await limits.take(key, 100);
    await refusal(key, 1);
    expect(await remaining(key)).to.deep.equal([4, 0]);
  });

  for (const { name, key } of [
    { name: 'tokens', key: keyWith(5, 100) },
    { name: 'requests', key: keyWith(0) },
  ]) {
    it(`say of a request that needs more ${name} than there are in a minute that it never runs`, async () => {
      const { message, headers } = await refusal(key, 101);
      expect(message).to.match(/^The request needs about \d+ (?:tokens|requests), .*: it can never run\.$/);
      expect(headers).to.include({ 'x-should-retry': 'false' });
      expect(headers).not.to.have.property('retry-after');
    });
  }

  it('do not mix up two keys', async () => {
    const [one, other] = [keyWith(1), keyWith(1)];
    await limits.take(one, 1);
    await limits.take(other, 1);
    await refusal(one);
  });

  describe('at the edge of a minute', () => {
    it('begin anew', async () => {
      const key = keyWith(1, 10);
      nowMs += 59_999;
      const { headers } = await limits.take(key, 10);
      expect(headers['x-ratelimit-reset-requests']).to.equal('1ms');
      await refusal(key);
      nowMs += 1;
      await limits.take(key, 10);
      await refusal(key);
    });

    const lates: readonly { name: string; end: (taken: Taken) => void }[] = [
      { name: 'what was taken before is given back', end: (taken) => taken.takeBack() },
      { name: 'what was estimated before turns out to be less', end: (taken) => taken.correct(0) },
      { name: 'what was estimated before turns out to be more', end: (taken) => taken.correct(50) },
    ];
    for (const { name, end } of lates) {
      it(`do not change when ${name}`, async () => {
        const key = keyWith(3, 100);
        const taken = await limits.take(key, 10);
        nowMs += 60_000;
        await limits.take(key, 10);
        end(taken);
        expect(await remaining(key)).to.deep.equal([2, 90]);
      });
    }

    it('hold nobody up for longer when the clock was set back', async () => {
      const key = keyWith(1);
      await limits.take(key, 1);
      nowMs -= 3_600_000;
      await limits.take(key, 1);
      expect((await refusal(key)).headers['retry-after']).to.equal('60');
    });
  });

  it('give back all that was taken', async () => {
    const key = keyWith(1, 10);
    const taken = await limits.take(key, 10);
    taken.takeBack();
    expect(await remaining(key)).to.deep.equal([1, 10]);
    await limits.take(key, 10);
  });

  for (const { used, left } of [
    { used: 0, left: 100 },
    { used: 15, left: 85 },
    { used: 40, left: 60 },
    { used: 130, left: 0 },
  ]) {
    it(`count ${used} tokens that were used in the place of 40 that were expected`, async () => {
      const key = keyWith(2, 100);
      const taken = await limits.take(key, 40);
      taken.correct(used);
      expect(await remaining(key)).to.deep.equal([1, left]);
    });
  }

  it('take a debt of tokens into account for those who ask for some, and not for those who ask for none', async () => {
    const key = keyWith(null, 100);
    (await limits.take(key, 40)).correct(130);
    await refusal(key, 1);
    await limits.take(key, 0);
  });

  it('follow a change of the key with the next request', async () => {
    const key = keyWith(1);
    await limits.take(key, 1);
    await refusal(key);
    const raised = { ...key, limits: { ...key.limits, requestsPerMinute: 2 } };
    expect((await limits.take(raised, 1)).headers['x-ratelimit-remaining-requests']).to.equal('0');
    await refusal({ ...key, limits: { ...key.limits, requestsPerMinute: 1 } });
  });

  it('decide a race in the order in which the requests came', async () => {
    const key = keyWith(3, 100);
    const asks = Array.from({ length: 10 }, () =>
      limits.take(key, 1).then(
        () => 'taken',
        () => 'refused',
      ),
    );
    const expected = [...Array.from({ length: 3 }, () => 'taken'), ...Array.from({ length: 7 }, () => 'refused')];
    expect(await Promise.all(asks)).to.deep.equal(expected);
    expect(await remaining(key)).to.deep.equal([0, 97]);
  });

  it('begin with what the records say of the running minute', async () => {
    const key = keyWith(5, 100);
    nowMs += 30_000;
    const [old, present] = [{ firstAtMs: MINUTE_MS - 1 }, { firstAtMs: MINUTE_MS }];
    await open([
      { keyId: key.keyId, requests: 3, tokens: 70, ...present },
      { keyId: keyWith(1).keyId, requests: 9, tokens: 9, ...old },
    ]);
    expect(await remaining(key)).to.deep.equal([2, 30]);
    await refusal(key, 31);
    nowMs += 30_000;
    expect(await remaining(key)).to.deep.equal([5, 100]);
  });
});
