import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { UsageQuery, UsageRow } from '../../../src/core/books/keys.ts';
import type { UsageList } from '../../../src/contract/record-types.ts';
import { callerOf, readError } from '../../records/caller.ts';
import { answer, USAGE } from '../../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../../support/backend.ts';
import { openGateway, type TestGateway } from '../../support/gateway.ts';
import { compileSchema } from '../../support/schemas.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 2, 15, 12, 30);

const ROW: UsageRow = {
  startMs: Date.UTC(2026, 2, 14),
  caller: 'hmac-of-a-key',
  model: 'm',
  requests: 7,
  failed: 2,
  cancelled: 1,
  inputTokens: 300,
  cachedTokens: 100,
  cacheWriteTokens: 50,
  outputTokens: 40,
  reasoningTokens: 10,
  costMicro: 1234,
  savedMicro: 56,
  durationMs: 5678,
};

describe('GET /api/v1/usage', () => {
  const isUsageList = compileSchema('usage.json', { closed: true });
  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let workshop: Workshop;
  let rows: readonly UsageRow[];
  let asked: UsageQuery[];

  beforeEach(async () => {
    rows = [];
    asked = [];
    workshop = makeWorkshop();
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
    await workshop.clear();
  });

  /** A gateway at a fixed time, whose store answers with `rows` and notes what it was asked. */
  async function openWithRows(): Promise<void> {
    const store = await workshop.open({ file: undefined });
    const listUsage = async (query: UsageQuery) => {
      asked.push(query);
      return rows;
    };
    gateway = await openGateway(
      { UPSTREAM_BASE_URL: backend.baseUrl },
      { store: { ...store, listUsage }, nowMs: () => NOW_MS },
    );
  }

  async function read(reply: Response): Promise<UsageList> {
    expect(reply.status).to.equal(200);
    const body: unknown = await reply.json();
    expect(isUsageList(body), JSON.stringify(isUsageList.errors)).to.equal(true);
    return body as UsageList;
  }

  it('answers with what was used, without saying by whom', async () => {
    await openWithRows();
    rows = [ROW, { ...ROW, startMs: Date.UTC(2026, 2, 15), model: 'n', costMicro: 0 }];
    const { object, data } = await read(await gateway.get('/api/v1/usage'));
    expect(object).to.equal('list');
    expect(data).to.have.length(2);
    expect(data[0]).to.deep.equal({
      start: 1_773_446_400,
      model: 'm',
      requests: 7,
      failed: 2,
      cancelled: 1,
      input_tokens: 300,
      cached_tokens: 100,
      cache_write_tokens: 50,
      output_tokens: 40,
      reasoning_tokens: 10,
      cached_share: 0.3333,
      cost: 1234,
      saved: 56,
      duration_ms: 5678,
    });
    expect(data[1]).to.include({ start: 1_773_532_800, model: 'n', cost: 0 });
  });

  it('tells how long requests took, and which were refused', async () => {
    await openWithRows();
    backend.always(answer());
    await gateway.create({ model: 'm', input: 'Hi' });
    await gateway.create({ model: 'n', input: 'Hi', stream: true }).then((reply) => reply.text());
    await fetch(`${gateway.url}/api/v1/responses`, {
      method: 'POST',
      headers: { authorization: 'Bearer test-key', 'content-type': 'application/json' },
      body: '{',
    });
    const { latencies, rejected } = await read(await gateway.get('/api/v1/usage'));
    const day = Date.UTC(2026, 2, 15) / 1000;
    const counts = latencies.map(({ start, model, first_token, duration }) => [
      start,
      model,
      first_token?.count,
      duration?.count,
    ]);
    expect(counts).to.have.deep.members([
      [null, null, 1, 2],
      [null, 'm', undefined, 1],
      [null, 'n', 1, 1],
      [day, null, 1, 2],
      [day, 'm', undefined, 1],
      [day, 'n', 1, 1],
    ]);
    expect(rejected).to.deep.equal([{ start: day, model: null, code: 'invalid_json', count: 1 }]);
  });

  for (const expose_upstream of [true, false]) {
    it(`tells${expose_upstream ? '' : ' nobody'} what the prefix cache of each backend served`, async () => {
      const backends = [{ name: 'gpu-a', base_url: backend.baseUrl }];
      const file = join(workshop.folder, 'backends.json');
      writeFileSync(file, JSON.stringify({ backends, expose_upstream }));
      gateway = await openGateway({ BACKENDS_FILE: file }, { nowMs: () => NOW_MS });
      const usage = { ...USAGE, prompt_tokens: 1000, prompt_tokens_details: { cached_tokens: 640 } };
      backend.always(answer('Hello', 'stop', usage));
      const messages = ['Hi', 'Hello', 'And?'].map((content, at) => ({
        role: at === 1 ? 'assistant' : 'user',
        content,
      }));
      await gateway.create({ model: 'm', input: messages.slice(0, 1), prompt_cache_key: 'a session' });
      await gateway.create({ model: 'm', input: messages, prompt_cache_key: 'a session' });
      expect((await read(await gateway.get('/api/v1/usage'))).backends).to.deep.equal(
        expose_upstream
          ? [
              {
                start: Date.UTC(2026, 2, 15) / 1000,
                model: 'm',
                backend: 'gpu-a',
                input_tokens: 2000,
                cached_tokens: 1280,
                cached_share: 0.64,
                reachable_tokens: 1000,
                moved_turns: 0,
                saved: 0,
              },
            ]
          : [],
      );
    });
  }

  it('is found under /v1 as well', async () => {
    await openWithRows();
    rows = [ROW];
    expect((await read(await gateway.get('/v1/usage'))).data).to.have.length(1);
    expect(backend.requests).to.deep.equal([]);
  });

  const spans: { query: string; per: string; fromMs: number; untilMs: number }[] = [
    { query: '', per: 'day', fromMs: NOW_MS - 30 * DAY_MS, untilMs: NOW_MS },
    { query: '?per=hour', per: 'hour', fromMs: NOW_MS - DAY_MS, untilMs: NOW_MS },
    { query: '?per=month', per: 'month', fromMs: NOW_MS - 365 * DAY_MS, untilMs: NOW_MS },
    { query: '?from=1773446400', per: 'day', fromMs: Date.UTC(2026, 2, 14), untilMs: NOW_MS },
    {
      query: '?from=2026-03-01&until=2026-03-02',
      per: 'day',
      fromMs: Date.UTC(2026, 2, 1),
      untilMs: Date.UTC(2026, 2, 2),
    },
    {
      query: '?per=hour&from=2026-03-01T10:30Z&until=2026-03-01T12:00:59Z',
      per: 'hour',
      fromMs: Date.UTC(2026, 2, 1, 10, 30),
      untilMs: Date.UTC(2026, 2, 1, 12, 0, 59),
    },
    { query: '?until=2026-01-31', per: 'day', fromMs: Date.UTC(2026, 0, 1), untilMs: Date.UTC(2026, 0, 31) },
    // A day that the calendar has every fourth year only.
    {
      query: '?from=2024-02-29&until=1709251200',
      per: 'day',
      fromMs: Date.UTC(2024, 1, 29),
      untilMs: 1_709_251_200_000,
    },
    // The longest that may be asked for.
    { query: '?per=hour&from=0&until=2678400', per: 'hour', fromMs: 0, untilMs: 31 * DAY_MS },
    { query: '?per=day&from=0&until=34560000', per: 'day', fromMs: 0, untilMs: 400 * DAY_MS },
    { query: '?per=month&from=0&until=34560000', per: 'month', fromMs: 0, untilMs: 400 * DAY_MS },
  ];
  for (const { query, per, fromMs, untilMs } of spans) {
    it(`${query === '' ? 'without a query' : `with ${query}`} asks for ${new Date(fromMs).toISOString()} and after`, async () => {
      await openWithRows();
      await read(await gateway.get(`/api/v1/usage${query}`));
      expect(asked).to.have.length(1);
      expect(asked[0]).to.include({ per, fromMs, untilMs });
      expect(asked[0]?.caller?.[0]).to.match(/^[\w-]{20,}$/);
    });
  }

  const refused: { query: string; param: string; message: RegExp }[] = [
    { query: 'per=week', param: 'per', message: /^per must be one of hour, day, month\.$/ },
    { query: 'per=', param: 'per', message: /^per must be one of/ },
    { query: 'per=day&per=day', param: 'per', message: /^per must be one of/ },
    { query: 'from=', param: 'from', message: /^from must be Unix time in seconds, or a UTC time such as 2026-03-01 / },
    { query: 'from=yesterday', param: 'from', message: /^from must be Unix time/ },
    { query: 'from=-1', param: 'from', message: /^from must be Unix time/ },
    { query: 'from=1.5', param: 'from', message: /^from must be Unix time/ },
    { query: 'from=17734464000', param: 'from', message: /^from must be Unix time/ },
    { query: 'from=2026-02-30', param: 'from', message: /^from must be Unix time/ },
    { query: 'from=2026-13-01', param: 'from', message: /^from must be Unix time/ },
    { query: 'from=2026-03-01T25:00Z', param: 'from', message: /^from must be Unix time/ },
    { query: 'from=2026-03-01T10:00', param: 'from', message: /^from must be Unix time/ },
    { query: 'from=0&from=1', param: 'from', message: /^from must be Unix time/ },
    { query: 'until=2026-02-29', param: 'until', message: /^until must be Unix time/ },
    { query: 'until=x&from=y', param: 'until', message: /^until must be Unix time/ },
    { query: 'from=2026-03-02&until=2026-03-01', param: 'from', message: /^from must be before until\.$/ },
    { query: 'from=2026-03-01&until=2026-03-01', param: 'from', message: /^from must be before until\.$/ },
    { query: 'from=2027-01-01', param: 'from', message: /^from must be before until\.$/ },
    {
      query: 'per=hour&from=0&until=2678401',
      param: 'from',
      message: /^from must be at most 31 days before until with /,
    },
    {
      query: 'from=0&until=34560001',
      param: 'from',
      message: /^from must be at most 400 days before until with per=day/,
    },
    {
      query: 'per=month&from=0&until=34560001',
      param: 'from',
      message: /^from must be at most 400 days before until/,
    },
  ];
  for (const { query, param, message } of refused) {
    it(`refuses ${query} and names ${param}`, async () => {
      await openWithRows();
      const reply = await gateway.get(`/api/v1/usage?${query}`);
      expect(reply.status).to.equal(400);
      const error = await readError(reply);
      expect(error).to.include({ code: 'invalid_request', param });
      expect(error.message).to.match(message);
      expect(asked).to.deep.equal([]);
    });
  }

  it('is refused when there is more than anybody could look at', async () => {
    await openWithRows();
    rows = Array.from({ length: 10_000 }, (_, index) => ({ ...ROW, model: `m${index}` }));
    expect((await read(await gateway.get('/api/v1/usage'))).data).to.have.length(10_000);
    rows = [...rows, ROW];
    const reply = await gateway.get('/api/v1/usage');
    expect(reply.status).to.equal(400);
    expect(await readError(reply)).to.include({ code: 'invalid_request', param: 'from' });
  });

  it('is for callers with a key, and for GET', async () => {
    await openWithRows();
    const stranger = await fetch(`${gateway.url}/api/v1/usage`);
    expect(stranger.status).to.equal(401);
    expect((await readError(stranger)).code).to.equal('missing_api_key');
    const posted = await fetch(`${gateway.url}/api/v1/usage`, {
      method: 'POST',
      headers: { authorization: 'Bearer k' },
    });
    expect(posted.status).to.equal(405);
    expect(posted.headers.get('allow')).to.equal('GET');
    await posted.text();
  });

  it('adds up what each caller has used, and shows it to nobody else', async () => {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { nowMs: () => NOW_MS });
    backend.always(answer());
    const callers = { first: callerOf(gateway.url, 'key-1'), second: callerOf(gateway.url, 'key-2') };
    for (const [caller, model] of [
      [callers.first, 'm'],
      [callers.first, 'm'],
      [callers.first, 'n'],
      [callers.second, 'm'],
    ] as const) {
      const reply = await caller.create({ model, input: 'Hello' });
      await reply.text();
      await caller.final(reply.headers.get('x-request-id') ?? '');
    }
    const first = await read(await callers.first.get('/api/v1/usage'));
    expect(first.data.map(({ model }) => model)).to.have.members(['m', 'n']);
    expect(first.data.find(({ model }) => model === 'm')).to.include({
      start: Date.UTC(2026, 2, 15) / 1000,
      requests: 2,
      failed: 0,
      cancelled: 0,
      input_tokens: 22,
      output_tokens: 14,
      cost: 0,
    });
    const second = await read(await callers.second.get('/api/v1/usage'));
    expect(second.data.map(({ model, requests }) => ({ model, requests }))).to.deep.equal([
      { model: 'm', requests: 1 },
    ]);
  });
});
