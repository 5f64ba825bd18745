import { expect } from 'chai';
import { callerOf, readError } from '../records/caller.ts';
import { answer } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openManagedGateway, type IssuedKey, type ManagedGateway } from '../support/managed.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { until } from '../support/time.ts';

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

  it('lets one of 40 equal requests through with one left in the minute, and the others are its duplicates', async () => {
    const { secret } = await gateway.issue({ limits: { requestsPerMinute: 1 } });
    const caller = callerOf(gateway.url, secret);
    backend.always(answer());
    const headers = { 'idempotency-key': 'one' };
    const replies = await Promise.all(Array.from({ length: 40 }, () => caller.create(REQUEST, { headers })));
    expect(countStatuses(replies)).to.deep.equal({ 200: 1, 409: 39 });
    expect(backend.requests).to.have.lengthOf(1);
  });

  it('lets as many of 40 requests through as the minute has left, and tells the others when to come again', async () => {
    const { secret } = await gateway.issue({ limits: { requestsPerMinute: 10 } });
    const caller = callerOf(gateway.url, secret);
    backend.always(answer());
    const replies = await Promise.all(Array.from({ length: 40 }, () => caller.create(REQUEST)));
    expect(countStatuses(replies)).to.deep.equal({ 200: 10, 429: 30 });
    expect(backend.requests).to.have.lengthOf(10);
    for (const { status, headers } of replies) {
      expect(headers.get('x-ratelimit-limit-requests')).to.equal('10');
      expect(headers.get('retry-after')).to.equal(status === 429 ? '50' : null);
    }
    expect((await caller.create(REQUEST)).status).to.equal(429);
    nowMs += 50_000;
    expect((await caller.create(REQUEST)).status).to.equal(200);
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

function countStatuses(replies: readonly Response[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
