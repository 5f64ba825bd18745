import { expect } from 'chai';
import { pino } from 'pino';
import { ENDPOINTS } from '../../src/telemetry/endpoints.ts';
import { toUniquePart } from '../../src/core/ids.ts';
import type { AlertReadings } from '../../src/telemetry/instruments.ts';
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts';
import type { RequestEnd, RequestFacts } from '../../src/telemetry/facts.ts';
import type { Usage } from '../../src/contract/types.ts';
import { readExposition, sumOf, type Family } from '../support/exposition.ts';

const USAGE: Usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 60, cache_write_tokens: 15 },
  output_tokens: 11,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 111,
};

const END: RequestEnd = { outcome: 'answered', status: 200, durationMs: 3000, bytes: 1000, requestId: 'req_1' };

const SILENT = pino({ level: 'silent' });

/** A stream which was answered: first output after 1 s, end after 3 s. */
function factsWith(facts: Partial<RequestFacts> = {}): RequestFacts {
  return {
    unique: toUniquePart('1'.repeat(32)),
    endpoint: 'responses',
    method: 'POST',
    startedAtMs: 5000,
    log: SILENT,
    trace: { callBackend: () => ({}), end: () => undefined },
    model: 'm',
    stream: true,
    keyPrefix: undefined,
    group: undefined,
    counted: undefined,
    backend: 'answered',
    wasSent: false,
    upstream: undefined,
    firstOutputAtMs: 6000,
    chunks: 21,
    usage: USAGE,
    prompt: undefined,
    savedMicro: null,
    leftOut: undefined,
    unknownFinish: undefined,
    isToldEarly: false,
    errorCode: undefined,
    ...facts,
  };
}

describe('createMetrics', () => {
  let metrics: Metrics;
  let isStoreFailing: boolean;
  let readings: AlertReadings;

  beforeEach(() => {
    isStoreFailing = false;
    readings = { groups: [], reached: [], alerts: [] };
    metrics = openMetrics();
  });

  const stateOf = (name: string, state: string) => ({ spec: { name, isOnly: false }, state });

  function openMetrics(): Metrics {
    return createMetrics({
      providerName: 'vllm',
      backend: { connections: () => ({ busy: 3, idle: 4 }) },
      relay: { connections: () => ({ busy: 5, idle: 6 }) },
      backends: () => [
        { ...stateOf('a', 'up'), running: 2, waiting: 1, rests: 3, answered: 10, failed: 4, cancelled: 1 },
        { ...stateOf('b', 'resting'), running: 0, waiting: 1, rests: 1, answered: 0, failed: 1, cancelled: 0 },
      ],
      webSockets: { count: 7 },
      store: { isFailing: () => isStoreFailing },
      alerts: {
        get readings() {
          return readings;
        },
      },
    });
  }

  async function scrape(): Promise<ReadonlyMap<string, Family>> {
    return readExposition(await metrics.show());
  }

  function tell(facts: Partial<RequestFacts> = {}, end: Partial<RequestEnd> = {}): void {
    const whole = factsWith(facts);
    metrics.begin(whole);
    metrics.end(whole, { ...END, ...end });
  }

  it('counts a request by endpoint, class of status, stream and outcome', async () => {
    tell();
    tell(
      { endpoint: 'models', stream: false, backend: 'not asked', errorCode: 'forbidden' },
      { outcome: 'rejected', status: 403 },
    );
    const { samples } = (await scrape()).get('responses_gateway_requests_total') ?? {};
    expect(samples?.map(({ labels, value }) => ({ ...labels, value }))).to.deep.equal([
      { endpoint: 'responses', status: '2xx', stream: 'true', outcome: 'answered', value: 1 },
      { endpoint: 'models', status: '4xx', stream: 'false', outcome: 'rejected', value: 1 },
    ]);
  });

  it('counts errors by their code, and those apart which never reached the backend', async () => {
    tell({ errorCode: 'rate_limit_exceeded', backend: 'not asked' }, { outcome: 'rejected', status: 429 });
    tell({ errorCode: 'rate_limit_exceeded', backend: 'asked' }, { outcome: 'failed', status: 429 });
    tell();
    const { samples } = (await scrape()).get('responses_gateway_errors_total') ?? {};
    expect(samples?.map(({ labels, value }) => ({ ...labels, value }))).to.deep.equal([
      { endpoint: 'responses', code: 'rate_limit_exceeded', rejected: 'true', value: 1 },
      { endpoint: 'responses', code: 'rate_limit_exceeded', rejected: 'false', value: 1 },
    ]);
  });

  it('measures a stream as the GenAI conventions say', async () => {
    tell();
    const families = await scrape();
    const call = { gen_ai_operation_name: 'chat', gen_ai_provider_name: 'vllm', gen_ai_request_model: 'm' };
    expect(sumOf(families, 'gen_ai_server_request_duration_seconds_sum', call)).to.equal(3);
    expect(sumOf(families, 'gen_ai_server_time_to_first_token_seconds_sum', call)).to.equal(1);
    // Two seconds for the ten tokens after the first one, and for the twenty chunks after it.
    expect(sumOf(families, 'gen_ai_server_time_per_output_token_seconds_sum', call)).to.equal(0.2);
    expect(sumOf(families, 'responses_gateway_time_per_output_chunk_seconds_sum', { model: 'm' })).to.equal(0.1);
    expect(sumOf(families, 'gen_ai_client_token_usage_sum', { ...call, gen_ai_token_type: 'input' })).to.equal(100);
    expect(sumOf(families, 'gen_ai_client_token_usage_sum', { ...call, gen_ai_token_type: 'output' })).to.equal(11);
  });

  it('counts tokens by kind', async () => {
    tell();
    tell();
    const { samples } = (await scrape()).get('responses_gateway_tokens_total') ?? {};
    expect(Object.fromEntries((samples ?? []).map(({ labels, value }) => [labels['kind'], value]))).to.deep.equal({
      input: 200,
      cached_input: 120,
      cache_write: 30,
      output: 22,
      reasoning: 8,
    });
  });

  const TURN = { reachableTokens: 0, changedBackend: false };
  for (const { prompt, cached, counted } of [
    { prompt: { turn: { turn: 'first' } }, cached: 0, counted: { turn: 'first', at: '', by: '' } },
    { prompt: { turn: { turn: 'extended' } }, cached: 60, counted: { turn: 'extended', at: '', by: '' } },
    {
      prompt: { turn: { turn: 'extended' }, reachableTokens: 2000 },
      cached: 0,
      counted: { turn: 'unread', at: '', by: 'backend' },
    },
    {
      prompt: { turn: { turn: 'broken', at: 'message 3 of 12', by: 'client' } },
      cached: 0,
      counted: { turn: 'broken', at: 'message', by: 'client' },
    },
  ] as const) {
    it(`counts a turn that is ${Object.values(counted).join(' ')}`, async () => {
      const usage = { ...USAGE, input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 } };
      tell({ usage, prompt: { ...TURN, ...prompt } });
      const { samples } = (await scrape()).get('responses_gateway_turns_total') ?? {};
      expect(samples?.map(({ labels }) => labels)).to.deep.equal([counted]);
    });
  }

  it('counts what each backend had in its cache beside what it could have, and turns that were elsewhere before', async () => {
    tell({ upstream: 'a', prompt: { turn: { turn: 'extended' }, reachableTokens: 80, changedBackend: false } });
    tell({ upstream: 'b', prompt: { turn: { turn: 'extended' }, reachableTokens: 90, changedBackend: true } });
    // Of the only backend, whose prompt was too long to be compared.
    tell({ upstream: undefined, prompt: undefined });
    const families = await scrape();
    const { samples } = families.get('responses_gateway_backend_input_tokens_total') ?? {};
    expect(samples?.map(({ labels, value }) => [labels['backend'], labels['kind'], value])).to.deep.equal([
      ['a', 'input', 100],
      ['a', 'cached', 60],
      ['a', 'reachable', 80],
      ['b', 'input', 100],
      ['b', 'cached', 60],
      ['b', 'reachable', 90],
      ['', 'input', 100],
      ['', 'cached', 60],
      ['', 'reachable', 0],
    ]);
    expect(sumOf(families, 'responses_gateway_backend_moved_turns_total', { backend: 'a' })).to.equal(0);
    expect(sumOf(families, 'responses_gateway_backend_moved_turns_total', { backend: 'b' })).to.equal(1);
  });

  for (const { name, facts, end } of [
    { name: 'a reply in JSON', facts: { stream: false }, end: {} },
    { name: 'a stream without output', facts: { firstOutputAtMs: undefined }, end: {} },
  ]) {
    it(`has no first token of ${name}`, async () => {
      tell(facts, end);
      expect(sumOf(await scrape(), 'gen_ai_server_time_to_first_token_seconds_count')).to.equal(0);
    });
  }

  for (const { name, facts, end } of [
    { name: 'failed', facts: { errorCode: 'upstream_error' }, end: { outcome: 'failed' } },
    { name: 'had one token and one chunk', facts: { chunks: 1, usage: { ...USAGE, output_tokens: 1 } }, end: {} },
  ] as const) {
    it(`has no time per token of a stream that ${name}`, async () => {
      tell(facts, end);
      const families = await scrape();
      expect(sumOf(families, 'gen_ai_server_time_to_first_token_seconds_count')).to.equal(1);
      expect(sumOf(families, 'gen_ai_server_time_per_output_token_seconds_count')).to.equal(0);
      expect(sumOf(families, 'responses_gateway_time_per_output_chunk_seconds_count')).to.equal(0);
    });
  }

  it('names the error of a request that reached the backend', async () => {
    tell({ errorCode: 'upstream_timeout' }, { outcome: 'failed', status: 504 });
    tell({ backend: 'asked' }, { outcome: 'failed', status: 418 });
    const { samples = [] } = (await scrape()).get('gen_ai_server_request_duration_seconds') ?? {};
    const counts = samples.filter(({ name }) => name.endsWith('_count'));
    expect(counts.map(({ labels }) => labels['error_type'])).to.deep.equal(['upstream_timeout', '418']);
  });

  it('leaves requests that never reached a model out of what it says of models', async () => {
    tell({ backend: 'not asked' }, { outcome: 'rejected', status: 400 });
    tell({ endpoint: 'models' });
    expect(sumOf(await scrape(), 'gen_ai_server_request_duration_seconds_count')).to.equal(0);
  });

  it('shows what runs, and zero where nothing does', async () => {
    const [one, other] = [factsWith({ stream: false }), factsWith({ endpoint: 'models', stream: false })];
    metrics.begin(one);
    metrics.begin(other);
    one.stream = true;
    let families = await scrape();
    const running = 'responses_gateway_requests_running';
    expect(sumOf(families, running, { endpoint: 'responses', stream: 'true' })).to.equal(1);
    expect(sumOf(families, running, { endpoint: 'models', stream: 'false' })).to.equal(1);
    expect(sumOf(families, running)).to.equal(2);
    metrics.end(one, END);
    metrics.end(other, END);
    families = await scrape();
    expect(sumOf(families, running)).to.equal(0);
    expect(families.get(running)?.samples).to.have.length(2 * ENDPOINTS.length);
  });

  it('shows the connections to the backend', async () => {
    const families = await scrape();
    const connections = (pool: string, state: string): number =>
      sumOf(families, 'responses_gateway_backend_connections', { pool, state });
    expect([connections('backend', 'busy'), connections('backend', 'idle')]).to.deep.equal([3, 4]);
    expect([connections('passthrough', 'busy'), connections('passthrough', 'idle')]).to.deep.equal([5, 6]);
  });

  it('counts by backend what it answered and how often it rested, and shows what it does now', async () => {
    const families = await scrape();
    const readings = [
      ['up', {}, [1, 0]],
      ['requests_running', {}, [2, 0]],
      ['requests_waiting', {}, [1, 1]],
      ['requests_total', { result: 'answered' }, [10, 0]],
      ['requests_total', { result: 'failed' }, [4, 1]],
      ['requests_total', { result: 'cancelled' }, [1, 0]],
      ['rests_total', {}, [3, 1]],
    ] as const;
    for (const [name, labels, expected] of readings) {
      const of = (backend: string): number =>
        sumOf(families, `responses_gateway_backend_${name}`, { backend, ...labels });
      expect([of('a'), of('b')], name).to.deep.equal(expected);
    }
  });

  const shown = async (name: string) =>
    (await scrape()).get(name)?.samples.map(({ labels, value }) => ({ ...labels, value }));

  it('counts by group how requests ended and their tokens, and nothing of keys without a group', async () => {
    tell({ group: 'research' });
    tell({ group: 'research', usage: null, backend: 'not asked' }, { outcome: 'rejected', status: 402 });
    tell();
    expect(await shown('responses_gateway_group_requests_total')).to.deep.equal([
      { group: 'research', outcome: 'answered', value: 1 },
      { group: 'research', outcome: 'rejected', value: 1 },
    ]);
    expect(await shown('responses_gateway_group_tokens_total')).to.deep.equal([
      { group: 'research', kind: 'input', value: 100 },
      { group: 'research', kind: 'cached_input', value: 60 },
      { group: 'research', kind: 'output', value: 11 },
    ]);
  });

  it('names the first hundred groups, and shows of the others the one that has used the most', async () => {
    for (let at = 0; at < 1000; at += 1) tell({ group: `group ${at}` });
    expect(await shown('responses_gateway_group_requests_total')).to.have.length(101);
    readings = {
      ...readings,
      groups: [
        { group: 'group 0', of: 'credits', ratio: 0.5 },
        { group: 'group 0', of: 'day', ratio: 0.25 },
        { group: 'group 200', of: 'day', ratio: 0.5 },
        { group: 'group 201', of: 'day', ratio: 0.9 },
        { group: 'group 202', of: 'day', ratio: 0.7 },
      ],
    };
    expect(await shown('responses_gateway_group_funds_used_ratio')).to.deep.equal([
      { group: 'group 0', of: 'credits', value: 0.5 },
      { group: 'group 0', of: 'day', value: 0.25 },
      { group: 'other', of: 'day', value: 0.9 },
    ]);
  });

  it('shows how many accounts have reached a threshold, and what became of alerts', async () => {
    readings = {
      groups: [],
      reached: [{ account: 'key', of: 'month', threshold: 80, count: 3 }],
      alerts: [{ type: 'spend.threshold', result: 'failed', count: 2 }],
    };
    expect(await shown('responses_gateway_accounts_at_threshold')).to.deep.equal([
      { account: 'key', of: 'month', threshold: '80', value: 3 },
    ]);
    expect(await shown('responses_gateway_alerts_total')).to.deep.equal([
      { type: 'spend.threshold', result: 'failed', value: 2 },
    ]);
    readings = { groups: [], reached: [], alerts: [] };
    expect(await shown('responses_gateway_accounts_at_threshold')).to.deep.equal([]);
  });

  it('shows whether the store can be written', async () => {
    expect(await shown('responses_gateway_store_up')).to.deep.equal([{ value: 1 }]);
    isStoreFailing = true;
    expect(await shown('responses_gateway_store_up')).to.deep.equal([{ value: 0 }]);
  });

  it('measures the store by operation and result', async () => {
    metrics.storeTook('accept', 0.25, true);
    metrics.storeTook('finish', 0.5, false);
    const families = await scrape();
    const name = 'responses_gateway_store_operation_duration_seconds_sum';
    expect(sumOf(families, name, { operation: 'accept', result: 'ok' })).to.equal(0.25);
    expect(sumOf(families, name, { operation: 'finish', result: 'error' })).to.equal(0.5);
  });

  it('says what runs, and how the process does', async () => {
    const families = await scrape();
    expect(sumOf(families, 'responses_gateway_build_info', { node: process.versions.node })).to.equal(1);
    for (const name of [
      'nodejs_eventloop_lag_p99_seconds',
      'process_resident_memory_bytes',
      'nodejs_gc_duration_seconds',
    ]) {
      expect(families.has(name), name).to.equal(true);
    }
  });

  it('does not see another gateway in the same process', async () => {
    const other = openMetrics();
    tell();
    expect(sumOf(readExposition(await other.show()), 'gen_ai_server_request_duration_seconds_count')).to.equal(0);
  });

  it('names the first fifty models that have answered, and no other of a thousand', async () => {
    for (let index = 0; index < 100; index++)
      tell({ model: `failed-${index}`, backend: 'asked' }, { outcome: 'failed' });
    for (let index = 0; index < 1000; index++) tell({ model: `model-${index}` });
    tell({ model: 'model-7', backend: 'asked' }, { outcome: 'failed' });
    tell({ model: undefined });
    const families = await scrape();
    const name = 'gen_ai_server_request_duration_seconds_count';
    const named = new Set(families.get('responses_gateway_tokens_total')?.samples.map(({ labels }) => labels['model']));
    expect(named).to.have.length(52);
    expect(named).to.include('model-49').and.to.include('unknown').and.not.to.include('model-50');
    expect(sumOf(families, name, { gen_ai_request_model: 'other' })).to.equal(1050);
    expect(sumOf(families, name, { gen_ai_request_model: 'model-7' })).to.equal(2);
  });

  it('writes a model in any letters so that it can be read back', async () => {
    tell({ model: 'a"b\\c\u2028,endpoint:x{}' });
    const { samples = [] } = (await scrape()).get('responses_gateway_tokens_total') ?? {};
    expect(samples[0]?.labels['model']).to.equal('a\\"b\\\\c\u2028,endpoint:x{}');
  });
});
