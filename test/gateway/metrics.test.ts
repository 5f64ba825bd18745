import { expect } from 'chai';
import { callerOf, type Caller } from '../records/caller.ts';
import { answer, finish, stream, text, usageChunk } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { readExposition, sumOf, type Family } from '../support/exposition.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { useHeldTime } from '../support/held-time.ts';
import { allArrived, turn } from '../support/time.ts';

const TOKEN = 'metrics-token-of-the-tests';
const REQUEST = { model: 'm', input: 'Hello' };

type Families = ReadonlyMap<string, Family>;

describe('/metrics', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let caller: Caller;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer());
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  async function open(settings: Readonly<Record<string, string>> = { METRICS_TOKEN: TOKEN }): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings });
    caller = callerOf(gateway.url);
  }

  const get = (url: string, token?: string, method = 'GET'): Promise<Response> =>
    fetch(`${url}/metrics`, { method, ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }) });

  async function scrape(): Promise<Families> {
    const reply = await get(gateway.metricsUrl ?? gateway.url, TOKEN);
    expect(reply.status).to.equal(200);
    return readExposition(await reply.text());
  }

  /** A request is counted when its connection says that the reply is over, which the client may see a moment earlier. */
  async function scrapeWhen(count: number): Promise<Families> {
    for (;;) {
      const families = await scrape();
      const done =
        sumOf(families, 'responses_gateway_requests_total') -
        sumOf(families, 'responses_gateway_requests_total', { endpoint: 'health' });
      if (done >= count) return families;
      await turn(5);
    }
  }

  describe('is shown', () => {
    it('to who has the token', async () => {
      await open();
      const reply = await get(gateway.url, TOKEN);
      expect(reply.status).to.equal(200);
      expect(reply.headers.get('content-type')).to.equal('text/plain; version=0.0.4; charset=utf-8');
      expect(reply.headers.get('cache-control')).to.equal('no-store');
      readExposition(await reply.text());
    });

    for (const { name, token, code } of [
      { name: 'without a token', token: undefined, code: 'missing_api_key' },
      { name: 'with the key of a caller', token: TEST_KEY, code: 'invalid_api_key' },
      { name: 'with more than the token', token: `${TOKEN}x`, code: 'invalid_api_key' },
    ]) {
      it(`to nobody ${name}`, async () => {
        await open();
        const reply = await get(gateway.url, token);
        expect(reply.status).to.equal(401);
        expect(reply.headers.get('www-authenticate')).to.equal('Bearer');
        const { error } = (await reply.json()) as { error: { code: string } };
        expect(error.code).to.equal(code);
      });
    }

    it('to nobody by another method', async () => {
      await open();
      expect((await get(gateway.url, TOKEN, 'POST')).status).to.equal(405);
    });

    it('to nobody where it is not switched on', async () => {
      await open({});
      const reply = await get(gateway.url, TOKEN);
      expect(reply.status).to.equal(404);
      expect(await reply.text()).to.include('METRICS_TOKEN');
      expect(gateway.metricsUrl).to.equal(undefined);
    });

    it('on a port of its own, and there alone', async () => {
      await open({ METRICS_PORT: '0' });
      const url = gateway.metricsUrl ?? '';
      expect((await get(url)).status).to.equal(200);
      expect((await get(gateway.url)).status).to.equal(404);
      const other = await fetch(`${url}/v1/models`);
      expect(other.status).to.equal(404);
      expect(other.headers.get('content-type')).to.include('application/json');
      await gateway.close();
      const failure: unknown = await get(url).catch((error: unknown) => error);
      expect(failure).to.have.nested.property('cause.code', 'ECONNREFUSED');
    });

    it('there too to who has the token, when there is one', async () => {
      await open({ METRICS_PORT: '0', METRICS_TOKEN: TOKEN });
      expect((await get(gateway.metricsUrl ?? '')).status).to.equal(401);
      expect((await get(gateway.metricsUrl ?? '', TOKEN)).status).to.equal(200);
      expect((await get(gateway.url, TOKEN)).status).to.equal(404);
    });
  });

  const ends: readonly {
    name: string;
    labels: { endpoint: string; status: string; stream: string; outcome: string };
    error?: string;
    make: () => Promise<void>;
  }[] = [
    {
      name: 'an answer in JSON',
      labels: { endpoint: 'responses', status: '2xx', stream: 'false', outcome: 'answered' },
      make: async () => void (await (await caller.create(REQUEST)).text()),
    },
    {
      name: 'a request of the wrong shape',
      labels: { endpoint: 'responses', status: '4xx', stream: 'false', outcome: 'rejected' },
      error: 'missing_required_parameter',
      make: async () => void (await (await caller.create({ model: 'm' })).text()),
    },
    {
      name: 'a path that does not exist',
      labels: { endpoint: 'other', status: '4xx', stream: 'false', outcome: 'rejected' },
      error: 'not_found',
      make: async () => void (await (await caller.get('/nothing/here')).text()),
    },
    {
      name: 'a failure in the middle of a stream',
      labels: { endpoint: 'responses', status: '2xx', stream: 'true', outcome: 'failed' },
      error: 'upstream_error',
      make: async () => {
        backend.reply(stream([text('Hel')], 'cut'));
        await (await caller.create({ ...REQUEST, stream: true })).text();
      },
    },
    {
      name: 'a cancel',
      labels: { endpoint: 'responses', status: '2xx', stream: 'true', outcome: 'cancelled' },
      error: 'request_cancelled',
      make: async () => {
        backend.reply(stream([text('Hel')], 'hang'));
        const reply = await caller.create({ ...REQUEST, stream: true });
        await (await caller.cancel(reply.headers.get('x-request-id') ?? '')).text();
        await reply.text();
      },
    },
    {
      name: 'a client that goes away in the middle of a stream',
      labels: { endpoint: 'responses', status: '2xx', stream: 'true', outcome: 'aborted' },
      error: 'client_disconnected',
      make: async () => {
        backend.reply(stream([text('Hel')], 'hang'));
        const client = new AbortController();
        await caller.create({ ...REQUEST, stream: true }, { signal: client.signal });
        client.abort();
      },
    },
    {
      name: 'a client that goes away before there is anything',
      labels: { endpoint: 'responses', status: '4xx', stream: 'false', outcome: 'aborted' },
      error: 'client_disconnected',
      make: async () => {
        backend.reply(({ hang }) => hang());
        const client = new AbortController();
        const reply = caller.create(REQUEST, { signal: client.signal }).catch(() => undefined);
        await backend.request(1);
        client.abort();
        await reply;
      },
    },
    {
      name: 'a failure in the middle of a stream that is passed on',
      labels: { endpoint: 'chat.completions', status: '2xx', stream: 'true', outcome: 'failed' },
      error: 'upstream_error',
      make: async () => {
        backend.reply(async ({ start, sse, cut }) => {
          start();
          await sse(text('Hel'));
          await allArrived();
          cut('reset');
        });
        await (await chat(true)).text().catch(() => undefined);
      },
    },
    {
      name: 'a refusal of the backend that is passed on',
      labels: { endpoint: 'chat.completions', status: '4xx', stream: 'false', outcome: 'failed' },
      make: async () => {
        backend.reply({ json: { error: { message: 'no' } }, status: 422 });
        await (await chat(false)).text();
      },
    },
  ];

  const chat = (stream: boolean, signal?: AbortSignal): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      ...(signal !== undefined && { signal }),
      method: 'POST',
      headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [], stream }),
    });

  for (const { name, labels, error, make } of ends) {
    it(`counts ${name}`, async () => {
      await open();
      await make();
      const families = await scrapeWhen(labels.outcome === 'cancelled' ? 2 : 1);
      expect(sumOf(families, 'responses_gateway_requests_total', labels)).to.equal(1);
      const errors = families.get('responses_gateway_errors_total')?.samples ?? [];
      expect(errors.map(({ labels, value }) => [labels['code'], value])).to.deep.equal(
        error === undefined ? [] : [[error, 1]],
      );
    });
  }

  it('counts a duplicate, and no second call to the backend', async () => {
    await open();
    for (let count = 0; count < 2; count++) {
      await (await caller.create(REQUEST, { headers: { 'idempotency-key': 'once' } })).text();
    }
    const families = await scrapeWhen(2);
    expect(sumOf(families, 'responses_gateway_requests_total', { outcome: 'duplicate', status: '4xx' })).to.equal(1);
    expect(sumOf(families, 'gen_ai_server_request_duration_seconds_count')).to.equal(1);
  });

  describe('measures', () => {
    const passTime = useHeldTime();

    it('the store, the tokens and the time to the first of them', async () => {
      await open();
      backend.reply(async ({ start, wait, sse, end }) => {
        start();
        await wait(60);
        await sse(text('a'));
        await wait(1000);
        await sse(text('b'), finish('stop'), usageChunk, '[DONE]');
        end();
      });
      const asking = caller.create({ ...REQUEST, stream: true });
      await backend.request(1);
      await passTime(60 + 1000);
      await (await asking).text();
      const families = await scrapeWhen(1);
      expect(sumOf(families, 'gen_ai_server_time_to_first_token_seconds_sum')).to.be.closeTo(0.06, 1e-6);
      // Seven tokens, so six after the first one; four chunks, so three after the first one.
      expect(sumOf(families, 'gen_ai_server_time_per_output_token_seconds_sum') * 6).to.be.closeTo(1, 1e-6);
      expect(sumOf(families, 'responses_gateway_time_per_output_chunk_seconds_sum') * 3).to.be.closeTo(1, 1e-6);
      expect(sumOf(families, 'responses_gateway_tokens_total', { kind: 'input' })).to.equal(11);
      expect(sumOf(families, 'responses_gateway_tokens_total', { kind: 'output' })).to.equal(7);
      for (const operation of ['accept', 'finish']) {
        const labels = { operation, result: 'ok' };
        expect(sumOf(families, 'responses_gateway_store_operation_duration_seconds_count', labels)).to.equal(1);
      }
    });
  });

  it('shows a stream and its connection while they last', async () => {
    await open();
    backend.reply(stream([text('Hel')], 'hang'));
    const client = new AbortController();
    const reply = await caller.create({ ...REQUEST, stream: true }, { signal: client.signal });
    const running = (families: Families): number =>
      sumOf(families, 'responses_gateway_requests_running', { endpoint: 'responses', stream: 'true' });
    const busy = (families: Families): number =>
      sumOf(families, 'responses_gateway_backend_connections', { pool: 'backend', state: 'busy' });
    const during = await scrape();
    expect([running(during), busy(during)]).to.deep.equal([1, 1]);
    client.abort();
    await reply.text().catch(() => undefined);
    const after = await scrapeWhen(1);
    expect([running(after), busy(after)]).to.deep.equal([0, 0]);
  });

  it('is right at every moment of a load, and back at zero after it', async () => {
    await open();
    const before = backend.requests.length;
    backend.always(async (stage) => {
      if (stage.request.connection % 5 === 0) await stage.wait(3);
      await answer()(stage);
    });
    let last: Families = await scrape();
    await Promise.all(Array.from({ length: 8 }, (_, worker) => work(worker)));
    const families = await scrapeWhen(8 * 12);
    expect(sumOf(families, 'gen_ai_server_request_duration_seconds_count')).to.equal(backend.requests.length - before);
    expect(sumOf(families, 'responses_gateway_requests_running', { endpoint: 'responses' })).to.equal(0);
    expect(sumOf(families, 'responses_gateway_requests_running', { endpoint: 'chat.completions' })).to.equal(0);

    async function work(worker: number): Promise<void> {
      for (let round = 0; round < 12; round++) {
        const isStream = (worker + round) % 2 === 0;
        await (await (worker % 4 === 0 ? chat(isStream) : caller.create({ ...REQUEST, stream: isStream }))).text();
        // One looks at the metrics while the others go on.
        if (worker === 0 && round % 4 === 0) {
          const families = await scrape();
          expectGrown(last, families);
          last = families;
        }
      }
    }
  });
});

/** No counter and no bucket has fallen, and none has gone. */
function expectGrown(before: Families, after: Families): void {
  for (const [name, { type, samples }] of before) {
    if (type === 'gauge') continue;
    for (const { name: sample, labels, value } of samples) {
      const now = after
        .get(name)
        ?.samples.find((other) => other.name === sample && JSON.stringify(other.labels) === JSON.stringify(labels));
      expect(now?.value, `${sample} ${JSON.stringify(labels)}`).to.be.at.least(value);
    }
  }
}
