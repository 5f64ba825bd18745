import { expect } from 'chai';
import { ADMIT_ALL } from '../../src/accounts/admission.ts';
import { ApiError } from '../../src/core/errors.ts';
import { toRequestId } from '../../src/core/ids.ts';
import { NOTHING_REPORTED } from '../../src/core/reply/usage.ts';
import { createTokenEstimator } from '../../src/core/tokens/estimate.ts';
import { accept, soon, takesLonger, type Accepted } from '../../src/requests/accept.ts';
import type { Incoming } from '../../src/requests/incoming.ts';
import type { Plan } from '../../src/requests/plan.ts';
import { createRunningRequests, type RunningRequests } from '../../src/requests/running.ts';
import { createIdentities } from '../../src/identity/identities.ts';
import type { Store } from '../../src/store/store.ts';
import { callerOf, readError } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { standStill, useHeldTime } from '../support/held-time.ts';
import { beginFacts } from '../support/observe.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { openOnlyBackend } from '../support/only-backend.ts';

/** Ten seconds into a minute. */
const NOW_MS = 1_790_000_050_000;
const REQUEST = { model: 'priced', input: 'Hello', max_output_tokens: 100 };
const CHAT = { model: 'priced', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 };

describe('accepting a request', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: ManagedGateway;
  let nowMs: number;

  beforeEach(async () => {
    nowMs = NOW_MS;
    backend = await startScriptedBackend();
    gateway = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { nowMs: () => nowMs });
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  /** How a key or a request is made to fail, in the order in which it is looked at. */
  interface Obstacle {
    readonly told: string;
    readonly request?: object;
    readonly isRepeat?: boolean;
    readonly spoil?: (issued: IssuedKey) => Promise<unknown>;
  }
  const obstacles: readonly Obstacle[] = [
    {
      told: '401 invalid_api_key',
      spoil: ({ key }) => gateway.store.updateKey(key.keyId, { isDisabled: true }),
    },
    { told: '400 invalid_request', request: { ...REQUEST, input: 7 } },
    { told: '409 duplicate_request', isRepeat: true },
    {
      told: '404 model_not_found',
      spoil: ({ key }) => gateway.store.updateKey(key.keyId, { models: ['other'] }),
    },
    {
      told: '429 rate_limit_exceeded',
      spoil: ({ key }) => gateway.store.updateKey(key.keyId, { limits: { requestsPerMinute: 1 } }),
    },
    {
      told: '402 insufficient_credits',
      spoil: async ({ key }) => {
        const { balanceMicro } = (await gateway.store.findKey(key.keyId)) ?? key;
        const amountMicro = -(balanceMicro ?? 0);
        await gateway.store.credit(key.keyId, { kind: 'adjust', amountMicro, note: '', createdAtMs: nowMs });
      },
    },
  ];

  for (const [at, first] of obstacles.entries()) {
    for (const second of [undefined, ...obstacles.slice(at + 1)]) {
      const beside = second === undefined ? '' : `, rather than ${second.told}`;
      it(`ends in ${first.told}${beside}, without a record and without the backend`, async () => {
        const issued = await gateway.issue({ limits: { requestsPerMinute: 100 }, creditsMicro: 1_000_000 });
        const caller = callerOf(gateway.url, issued.secret);
        const original = { 'idempotency-key': 'original' };
        backend.reply(answer());
        const reply = await caller.create(REQUEST, { headers: original });
        await caller.final(reply.headers.get('x-request-id') ?? '');

        const both = second === undefined ? [first] : [first, second];
        for (const { spoil } of both) await spoil?.(issued);
        nowMs += 1000;
        const isRepeat = both.some((obstacle) => obstacle.isRepeat);
        const request = both.map((obstacle) => obstacle.request).find((spoilt) => spoilt !== undefined) ?? REQUEST;
        const refused = await caller.create(request, { headers: isRepeat ? original : { 'idempotency-key': 'new' } });
        const { code } = ((await refused.json()) as { error: { code: string } }).error;
        expect(`${refused.status} ${code}`).to.equal(first.told);
        expect(backend.requests).to.have.lengthOf(1);
        const page = await gateway.store.list([issued.key.keyId], { limit: 10 });
        expect(page?.records).to.have.lengthOf(1);
      });
    }
  }

  for (const [endpoint, status, told, isKept] of [
    ['create', 408, 504, true],
    ['complete', 408, 408, true],
    ['create', 425, 425, false],
    ['complete', 498, 498, false],
    ['create', 529, 503, true],
    ['complete', 529, 503, true],
  ] as const) {
    it(`that the backend gave up with ${status} may be tried again, ${isKept ? 'but not with its key' : 'also with its key'} (${endpoint})`, async () => {
      const { secret } = await gateway.issue();
      const caller = callerOf(gateway.url, secret);
      const request = endpoint === 'create' ? REQUEST : CHAT;
      const headers = { 'idempotency-key': 'original' };
      const refusal = { json: { error: { message: 'Not now' } }, status, headers: { 'x-should-retry': 'maybe' } };
      backend.reply(refusal, refusal, refusal);
      const failed = await caller[endpoint](request, { headers });
      expect(failed.status).to.equal(told);
      expect(failed.headers.get('x-should-retry')).to.equal(isKept ? 'false' : 'true');
      const repeated = await caller[endpoint](request, { headers });
      expect(repeated.status).to.equal(isKept ? 409 : told);
      const withoutKey = await caller[endpoint](request);
      expect(withoutKey.headers.get('x-should-retry'), 'nothing would call a retry a duplicate').to.equal('true');
    });
  }

  it('counts a request without funds in the minute of its key, and no duplicate', async () => {
    const { secret, key } = await gateway.issue({
      limits: { requestsPerMinute: 10, tokensPerMinute: 100_000 },
      creditsMicro: 2000,
    });
    const caller = callerOf(gateway.url, secret);
    const headers = { 'idempotency-key': 'original' };
    backend.always(answer());
    const first = await caller.create(REQUEST, { headers });
    await caller.final(first.headers.get('x-request-id') ?? '');
    for (let time = 0; time < 5; time++) {
      expect((await caller.create(REQUEST, { headers })).status).to.equal(409);
      expect((await caller.create({ ...REQUEST, max_output_tokens: 1000 })).status).to.equal(402);
    }
    await until(async () => (await gateway.store.findRate(key.keyId))?.requests === 6);
    const { headers: last } = await caller.create(REQUEST);
    expect(last.get('x-ratelimit-remaining-requests')).to.equal('3');
    // What the first one used, and what this one has reserved.
    const [reserved] = (await gateway.store.listLedger(key.keyId, { limit: 100 }))?.entries.filter(
      ({ kind }) => kind === 'reserve',
    ) ?? [undefined];
    const reservedInput = (-(reserved?.amountMicro ?? 0) - 100 * 10) / 2;
    expect(last.get('x-ratelimit-remaining-tokens')).to.equal(String(100_000 - 18 - 100 - reservedInput));
  });

  it('puts the tokens that were used in the place of those that were expected', async () => {
    const { secret } = await gateway.issue({ limits: { tokensPerMinute: 10_000 } });
    const caller = callerOf(gateway.url, secret);
    const used = { prompt_tokens: 1000, completion_tokens: 2000, total_tokens: 3000 };
    backend.reply(answer('Hello', 'stop', used), { json: { error: { message: 'Oh' } }, status: 500 }, answer());
    const run = async (): Promise<number> => {
      const reply = await caller.create(REQUEST);
      await caller.final(reply.headers.get('x-request-id') ?? '');
      return Number(reply.headers.get('x-ratelimit-remaining-tokens'));
    };
    const first = await run();
    expect(first).to.be.within(9800, 9899);
    // 3000 used; then nothing at all, since the backend did not come to write.
    expect(await run()).to.equal(first - 3000);
    expect(await run()).to.equal(first - 3000);
  });

  it('lets one of 100 equal requests through with one left in the minute, and the others are its duplicates', async () => {
    const { secret } = await gateway.issue({ limits: { requestsPerMinute: 1 } });
    const caller = callerOf(gateway.url, secret);
    backend.always(answer());
    const headers = { 'idempotency-key': 'one' };
    const replies = await Promise.all(Array.from({ length: 100 }, () => caller.create(REQUEST, { headers })));
    expect(countStatuses(replies)).to.deep.equal({ 200: 1, 409: 99 });
    expect(backend.requests).to.have.lengthOf(1);
  });

  it('lets as many of 100 requests through as the minute has left, and tells the others when to come again', async () => {
    const { secret } = await gateway.issue({ limits: { requestsPerMinute: 10 } });
    const caller = callerOf(gateway.url, secret);
    backend.always(answer());
    const replies = await Promise.all(Array.from({ length: 100 }, () => caller.create(REQUEST)));
    expect(countStatuses(replies)).to.deep.equal({ 200: 10, 429: 90 });
    expect(backend.requests).to.have.lengthOf(10);
    for (const { status, headers } of replies) {
      expect(headers.get('x-ratelimit-limit-requests')).to.equal('10');
      expect(headers.get('retry-after')).to.equal(status === 429 ? '50' : null);
    }
    expect((await caller.create(REQUEST)).status).to.equal(429);
    nowMs += 50_000;
    expect((await caller.create(REQUEST)).status).to.equal(200);
  });

  it('counts both endpoints against one limit', async () => {
    const { secret } = await gateway.issue({ limits: { requestsPerMinute: 2 } });
    const caller = callerOf(gateway.url, secret);
    backend.always(answer());
    expect((await caller.create(REQUEST)).headers.get('x-ratelimit-remaining-requests')).to.equal('1');
    const chat = await caller.complete(CHAT);
    expect(chat.status).to.equal(200);
    expect(chat.headers.get('x-ratelimit-remaining-requests')).to.equal('0');
    for (const refused of [await caller.create(REQUEST), await caller.complete(CHAT)]) {
      expect(refused.status).to.equal(429);
      expect(refused.headers.get('x-ratelimit-remaining-requests')).to.equal('0');
      expect(await readError(refused)).to.include({ code: 'rate_limit_exceeded', type: 'rate_limit_error' });
    }
  });

  it('refuses a key that was disabled a moment ago, and says so, while the door still remembers it', async () => {
    const { secret, key } = await gateway.issue({ limits: { requestsPerMinute: 2 } });
    const caller = callerOf(gateway.url, secret);
    await caller.get('/api/v1/key');
    await gateway.store.updateKey(key.keyId, { isDisabled: true });
    const reply = await caller.create(REQUEST);
    expect(reply.status).to.equal(401);
    expect((await readError(reply)).message).to.equal('The API key is disabled.');
    expect(backend.requests).to.deep.equal([]);
  });
});

const DAY_MS = 86_400_000;
const AT_MS = 20_000 * DAY_MS;

describe('a request that was accepted', () => {
  let workshop: Workshop;

  beforeEach(() => {
    workshop = makeWorkshop();
  });

  afterEach(async () => {
    await workshop.clear();
  });

  async function acceptOne(
    store: Store,
    {
      nowMs = Date.now,
      headers = new Map(),
      running = createRunningRequests(),
      mayHold = false,
      ...overrides
    }: {
      nowMs?: () => number;
      headers?: Map<string, string>;
      running?: RunningRequests;
      mayHold?: boolean;
    } & Partial<Incoming> = {},
  ): Promise<Accepted> {
    const incoming: Incoming = {
      facts: beginFacts(),
      caller: { identity: ['me'], backendHeaders: {}, holder: () => ({ name: 'me', isStranger: false }) },
      idempotencyKey: 'key',
      body: { bytes: Buffer.from('{}') },
      baseUrl: () => 'http://gateway.test',
      hasReplyBegun: () => false,
      isServed: () => false,
      onceServed: () => undefined,
      setHeader: (name, value) => void headers.set(name, value),
      sendDuplicate: () => expect.fail('it is no duplicate'),
      ...overrides,
    };
    const plan: Plan = {
      endpoint: 'responses',
      model: 'm',
      backendModel: 'm',
      route: openOnlyBackend().routes.choose('m', () => ''),
      stream: false,
      inputSize: { textBytes: 2, media: 0 },
      maxOutputTokens: null,
      choices: 1,
    };
    const services = {
      store,
      admission: ADMIT_ALL,
      running,
      identities: createIdentities('a secret of ours', null),
      estimator: createTokenEstimator(),
      keyOwner: 'gateway' as const,
      duplicateStatus: 409 as const,
      exposeUpstream: false,
      nowMs,
      steadyMs: () => performance.now(),
    };
    const accepted = await accept(incoming, plan, services, { mayHold });
    if (accepted.kind !== 'accepted') throw new Error('it is no duplicate');
    return accepted;
  }

  it('is settled when it throws before it has settled itself', async () => {
    const store = await workshop.open({ file: undefined });
    const headers = new Map<string, string>();
    const accepted = await acceptOne(store, { headers });
    await accepted.settleThrown(new Error('a mistake of ours'));

    // The record keeps the idempotency key, so that trying again would only find the record.
    expect(headers.get('x-should-retry')).to.equal('false');
    const page = await store.list(['me'], { limit: 10 });
    expect(page?.records).to.have.lengthOf(1);
    expect(page?.records[0]).to.include({ status: 'failed', errorCode: 'internal_error', usage: null });
  });

  for (const jumpMs of [-2 * DAY_MS, DAY_MS]) {
    it(`takes as long as it took when the clock is set ${jumpMs < 0 ? 'back' : 'forward'} meanwhile`, async () => {
      const store = await workshop.open({ file: undefined });
      let nowMs = AT_MS;
      const accepted = await acceptOne(store, { nowMs: () => nowMs });
      nowMs += jumpMs;
      await accepted.settleThrown(new Error('a mistake of ours'));
      const { records } = await store.list(['me'], { limit: 1 });
      expect(records[0]?.completedAtMs).to.be.within(AT_MS, AT_MS + 600_000);
      const [usage] = await store.listUsage({ fromMs: AT_MS, untilMs: AT_MS + DAY_MS, per: 'day' });
      expect(usage?.durationMs).to.be.within(0, 600_000);
    });
  }

  describe('that may be held', () => {
    const passTime = useHeldTime();
    const ENDING = {
      failure: null,
      incompleteReason: null,
      reported: NOTHING_REPORTED,
      outputLength: 3,
      hasOutput: true,
    };
    const NO_KEY = { idempotencyKey: undefined, mayHold: true };
    const STRANGER = {
      ...NO_KEY,
      caller: { identity: ['me'], backendHeaders: {}, holder: () => ({ name: 'me', isStranger: true }) } as const,
    };

    let calls: string[];
    let store: Store;

    beforeEach(async () => {
      calls = [];
      const below = await workshop.open({ file: undefined });
      store = {
        ...below,
        accept: (draft) => (calls.push('accept'), below.accept(draft)),
        finish: (...end) => (calls.push('finish'), below.finish(...end)),
        record: (draft, outcome) => (calls.push('record'), below.record(draft, outcome)),
        discard: (...end) => (calls.push('discard'), below.discard(...end)),
      };
    });

    const list = async () => (await store.list(['me'], { limit: 10 })).records;

    it('is recorded once, with its end, when that comes soon', async () => {
      const accepted = await acceptOne(store, NO_KEY);
      await passTime(4);
      expect(await accepted.settle(ENDING)).to.equal(null);
      expect((await list()).map(({ status }) => status)).to.deep.equal(['succeeded']);
      await passTime(100);
      expect(calls).to.deep.equal(['record']);
    });

    it('is recorded twice when its end takes longer', async () => {
      const accepted = await acceptOne(store, NO_KEY);
      await passTime(5);
      expect((await list()).map(({ status }) => status)).to.deep.equal(['processing']);
      expect(await accepted.settle(ENDING)).to.equal(null);
      expect(calls).to.deep.equal(['accept', 'finish']);
    });

    for (const { name, overrides } of [
      { name: 'it may not be held', overrides: { idempotencyKey: undefined } },
      { name: 'it has an idempotency key', overrides: { mayHold: true } },
    ]) {
      it(`is recorded twice where ${name}`, async () => {
        const accepted = await acceptOne(store, overrides);
        expect(await accepted.settle(ENDING)).to.equal(null);
        expect(calls).to.deep.equal(['accept', 'finish']);
      });
    }

    it('is recorded twice when its client is told something before', async () => {
      const accepted = await acceptOne(store, NO_KEY);
      expect(accepted.whenDecided(true), 'nothing is told before the end').to.equal(undefined);
      expect(accepted.isHeld()).to.equal(true);
      const decided = accepted.whenDecided();
      expect(accepted.isHeld()).to.equal(false);
      await decided;
      expect((await list()).map(({ status }) => status)).to.deep.equal(['processing']);
      expect(accepted.whenDecided()).to.equal(undefined);
      expect(await accepted.settle(ENDING)).to.equal(null);
      await passTime(100);
      expect(calls).to.deep.equal(['accept', 'finish']);
    });

    it('is told nothing of before its end if it cannot be recorded', async () => {
      const refusal = new ApiError('store_unavailable');
      const accepted = await acceptOne({ ...store, accept: () => Promise.reject(refusal) }, NO_KEY);
      const thrown = await accepted.whenDecided()?.catch((error: unknown) => error);
      expect(thrown).to.equal(refusal);
      expect(accepted.isHeld()).to.equal(true);
      expect(await accepted.settle(ENDING)).to.equal(refusal);
    });

    it('is recorded twice when a cancel is being decided as it ends', async () => {
      const running = createRunningRequests();
      const facts = beginFacts();
      const accepted = await acceptOne(store, { ...NO_KEY, running, facts });
      const asking = Promise.withResolvers<boolean>();
      const cancelling = running.cancelIf(toRequestId(facts.unique), asking.promise);
      const decided = accepted.whenDecided(true);
      expect(accepted.isHeld()).to.equal(false);
      asking.resolve(false);
      await Promise.all([decided, cancelling]);
      expect(await accepted.settle(ENDING)).to.equal(null);
      expect(calls).to.deep.equal(['accept', 'finish']);
    });

    it('is recorded twice while the store fails', async () => {
      const accepted = await acceptOne({ ...store, isFailing: () => true }, NO_KEY);
      expect(await accepted.settle(ENDING)).to.equal(null);
      expect(calls).to.deep.equal(['accept', 'finish']);
    });

    it('needs no store where nothing is to be recorded', async () => {
      const accepted = await acceptOne(store, STRANGER);
      const failure = new ApiError('invalid_api_key');
      expect(await accepted.settle({ ...ENDING, failure, outputLength: 0, hasOutput: false })).to.equal(failure);
      await passTime(100);
      expect(calls).to.deep.equal([]);
    });

    it('is refused, and may be tried again, when it cannot be recorded', async () => {
      const headers = new Map<string, string>();
      const unavailable = new ApiError('store_unavailable');
      const failing = { ...store, record: () => Promise.reject(unavailable) };
      const accepted = await acceptOne(failing, { ...NO_KEY, headers });
      expect(await accepted.settle(ENDING)).to.equal(unavailable);
      expect(await accepted.settle(ENDING), 'only the first call counts').to.equal(unavailable);
      expect(headers.has('x-should-retry')).to.equal(false);
      expect(await list()).to.deep.equal([]);
    });

    for (const { name, failure, isTold } of [
      { name: 'an answer that came first', failure: null, isTold: false },
      { name: 'a failure of the backend that came first', failure: new ApiError('upstream_error'), isTold: false },
      { name: 'the end of a drain', failure: new ApiError('gateway_interrupted'), isTold: false },
      // The record stays of which somebody was told.
      { name: 'a cancel', failure: new ApiError('request_cancelled'), isTold: true },
      { name: 'a client that has left', failure: new ApiError('client_disconnected'), isTold: true },
    ]) {
      it(`is refused when it cannot be recorded, ${isTold ? 'except after' : 'also after'} ${name}`, async () => {
        const accepting = Promise.withResolvers<never>();
        const accepted = await acceptOne({ ...store, accept: () => accepting.promise }, NO_KEY);
        await passTime(5);
        const settling = accepted.settle({ ...ENDING, failure });
        const unavailable = new ApiError('store_unavailable');
        accepting.reject(unavailable);
        expect(await settling).to.equal(isTold ? failure : unavailable);
      });
    }

    it('is refused when it cannot be recorded and a drain has ended it before', async () => {
      const accepting = Promise.withResolvers<never>();
      const running = createRunningRequests();
      const accepted = await acceptOne({ ...store, accept: () => accepting.promise }, { ...NO_KEY, running });
      await passTime(5);
      running.interrupt();
      const failing = accepted.failureOf(accepted.signal.reason);
      const unavailable = new ApiError('store_unavailable');
      accepting.reject(unavailable);
      expect(await failing).to.equal(unavailable);
    });
  });
});

function countStatuses(replies: readonly Response[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('something that is done soon', () => {
  const pass = useHeldTime();
  let done = 0;
  const act = (): void => void (done += 1);

  beforeEach(() => {
    done = 0;
  });

  it('is done after its time, and once', async () => {
    const waiting = soon(5, act);
    await pass(4);
    expect([done, waiting.isWaiting()]).to.deep.equal([0, true]);
    await pass(1);
    expect([done, waiting.isWaiting()]).to.deep.equal([1, false]);
    waiting.now();
    expect(waiting.cancel()).to.equal(false);
    expect(done).to.equal(1);
  });

  it('is done at once where that is asked for', async () => {
    soon(5, act).now();
    expect(done).to.equal(1);
    await pass(10);
    expect(done).to.equal(1);
  });

  it('is not done where it is cancelled', async () => {
    expect(soon(5, act).cancel()).to.equal(true);
    await pass(10);
    expect(done).to.equal(0);
  });

  it('comes after what arrived while the process was busy', async () => {
    const waiting = soon(5, act);
    setTimeout(() => waiting.cancel(), 6);
    await standStill(10);
    expect(done).to.equal(0);
  });
});

describe('how long a promise takes', () => {
  const pass = useHeldTime();

  it('is told by what comes first', async () => {
    expect(await takesLonger(Promise.resolve(), 5)).to.equal(false);
    const open = Promise.withResolvers<void>();
    const told = takesLonger(open.promise, 5);
    await pass(5);
    expect(await told).to.equal(true);
    open.resolve();
  });

  it('is not told of a promise that fails', async () => {
    const failed = await takesLonger(Promise.reject(new RangeError('no')), 5).catch((error: unknown) => error);
    expect(failed).to.be.instanceOf(RangeError);
    await pass(10);
  });
});
