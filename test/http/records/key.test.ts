import { expect } from 'chai';
import type { OwnKey } from '../../../src/contract/record-types.ts';
import { callerOf, readError } from '../../records/caller.ts';
import { answer } from '../../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { openGateway, type TestGateway } from '../../support/gateway.ts';
import { newGroupDraft, NO_LIMITS } from '../../support/keys.ts';
import { openManagedGateway, type ManagedGateway } from '../../support/managed.ts';
import { compileSchema } from '../../support/schemas.ts';

/** In the last minute of a day in the middle of a month. */
const NOW_MS = Date.UTC(2026, 10, 21, 23, 59, 10);
const TOMORROW_S = Date.UTC(2026, 10, 22) / 1000;

describe('GET /api/v1/key', () => {
  const isOwnKey = compileSchema('key.json', { closed: true });
  let backend: ScriptedBackend;
  let gateway: TestGateway | ManagedGateway;
  let nowMs: number;

  beforeEach(async () => {
    nowMs = NOW_MS;
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function openManaged(): Promise<ManagedGateway> {
    const managed = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { nowMs: () => nowMs });
    gateway = managed;
    return managed;
  }

  async function show(url: string, secret: string): Promise<OwnKey> {
    const reply = await callerOf(url, secret).get('/api/v1/key');
    expect(reply.status).to.equal(200);
    const body: unknown = await reply.json();
    expect(isOwnKey(body), JSON.stringify(isOwnKey.errors)).to.equal(true);
    return body as OwnKey;
  }

  it('shows a key without limits', async () => {
    const { url, issue } = await openManaged();
    const { secret, key } = await issue({ name: 'a notebook', createdAtMs: 1_790_000_000_000 });
    const none = {
      requests: 0,
      failed: 0,
      cancelled: 0,
      input_tokens: 0,
      cached_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 0,
      reasoning_tokens: 0,
    };
    const { prices, ...shown } = await show(url, secret);
    expect(prices).not.to.deep.equal([]);
    expect(shown).to.deep.equal({
      object: 'key',
      id: key.keyId,
      name: 'a notebook',
      prefix: secret.slice(0, 10),
      created_at: 1_790_000_000,
      expires_at: null,
      models: null,
      balance: null,
      held: 0,
      spent: { today: 0, this_week: 0, this_month: 0 },
      currency: 'USD',
      group: null,
      gateway: null,
      rate_limits: { requests_per_minute: null, tokens_per_minute: null },
      spend_limits: { per_day: null, per_week: null, per_month: null },
      usage: { today: none, this_month: none },
    });
  });

  it('shows what is left of each limit, and until when', async () => {
    const { url, issue } = await openManaged();
    const { secret } = await issue({
      models: ['priced-*'],
      expiresAtMs: NOW_MS + 5000,
      limits: {
        requestsPerMinute: 5,
        tokensPerMinute: 10_000,
        spendPerDayMicro: 70,
        spendPerWeekMicro: 400,
        spendPerMonthMicro: 700,
      },
      creditsMicro: 1_000_000,
    });
    expect(await show(url, secret)).to.deep.include({
      models: ['priced-*'],
      expires_at: NOW_MS / 1000 + 5,
      balance: 1_000_000,
      rate_limits: {
        requests_per_minute: { limit: 5, remaining: 5, resets_at: TOMORROW_S },
        tokens_per_minute: { limit: 10_000, remaining: 10_000, resets_at: TOMORROW_S },
      },
      spend_limits: {
        per_day: { limit: 70, remaining: 70, resets_at: TOMORROW_S },
        per_week: { limit: 400, remaining: 400, resets_at: Date.UTC(2026, 10, 23) / 1000 },
        per_month: { limit: 700, remaining: 700, resets_at: Date.UTC(2026, 11) / 1000 },
      },
    });
  });

  it('shows what is left of its group, and the prices of what both may use', async () => {
    const { url, issue, store } = await openManaged();
    const { groupId } = await store.createGroup(
      newGroupDraft({
        name: 'team',
        models: ['m'],
        limits: { ...NO_LIMITS, tokensPerMinute: 100, spendPerDayMicro: 70 },
        creditsMicro: 500,
      }),
    );
    const { secret } = await issue({ groupId });
    const { group, prices } = await show(url, secret);
    expect(group).to.deep.equal({
      id: groupId,
      name: 'team',
      expires_at: null,
      models: ['m'],
      balance: 500,
      held: 0,
      spent: { today: 0, this_week: 0, this_month: 0 },
      rate_limits: {
        requests_per_minute: null,
        tokens_per_minute: { limit: 100, remaining: 100, resets_at: TOMORROW_S },
      },
      spend_limits: { per_day: { limit: 70, remaining: 70, resets_at: TOMORROW_S }, per_week: null, per_month: null },
    });
    expect(prices.filter(({ model }) => !model.includes('*')).map(({ model }) => model)).to.deep.equal(['m']);
    for (const price of prices) {
      const { model, ...amounts } = price;
      for (const amount of Object.values(amounts)) expect(amount, model).to.match(/^\d+(?:\.\d+)?$/);
    }
  });

  it('sums up what was used today and this month', async () => {
    const { url, issue } = await openManaged();
    const { secret } = await issue({ limits: { requestsPerMinute: 5 } });
    const caller = callerOf(url, secret);
    const use = async (): Promise<void> => {
      backend.reply(answer());
      const reply = await caller.create({ model: 'm', input: 'Hello' });
      await caller.final(reply.headers.get('x-request-id') ?? '');
    };
    await use();
    await use();
    nowMs += 60_000;
    await use();
    const { usage, rate_limits } = await show(url, secret);
    expect(usage.today.requests).to.equal(1);
    expect(usage.this_month.requests).to.equal(3);
    expect(usage.this_month.input_tokens).to.equal(3 * usage.today.input_tokens);
    expect(usage.today.output_tokens).to.be.greaterThan(0);
    expect(rate_limits.requests_per_minute).to.deep.include({ remaining: 4 });
  });

  it('does not show a key that was deleted a moment ago', async () => {
    const { url, issue, store } = await openManaged();
    const { secret, key } = await issue();
    await show(url, secret);
    await store.deleteKey(key.keyId);
    const reply = await callerOf(url, secret).get('/api/v1/key');
    expect(reply.status).to.equal(401);
    expect(await readError(reply)).to.include({ code: 'invalid_api_key' });
  });

  for (const settings of [{}, { AUTH_MODE: 'static', API_KEYS: 'sk-1' }]) {
    it(`says that there is nothing to show with ${JSON.stringify(settings)}`, async () => {
      gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings });
      const reply = await callerOf(gateway.url, 'sk-1').get('/api/v1/key');
      expect(reply.status).to.equal(404);
      expect(await readError(reply)).to.include({
        code: 'not_found',
        message: 'This gateway does not issue keys (AUTH_MODE is not managed), so it has no data about yours.',
      });
    });
  }
});
