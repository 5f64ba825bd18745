import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import { callerOf, type Caller } from '../records/caller.ts';
import { answer, stream, text } from '../records/chunks.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, TEST_KEY, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN_ID = '00f067aa0ba902b7';
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`;
const REQUEST = { model: 'm', input: 'canary-prompt' };

describe('traces', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let caller: Caller;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    backend.always(answer('canary-answer'));
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, UPSTREAM_DIALECT: 'mistral' });
    caller = callerOf(gateway.url, 'canary-key');
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  const chat = (headers: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'm', messages: [] }),
    });

  /** What the backend was told of the trace by a request with these headers. */
  async function passedOn(headers: Readonly<Record<string, string>>): Promise<object> {
    await (await caller.create(REQUEST, { headers })).text();
    const { traceparent, tracestate } = backend.requests.at(-1)?.headers ?? {};
    return { ...(traceparent !== undefined && { traceparent }), ...(tracestate !== undefined && { tracestate }) };
  }

  describe('without an SDK', () => {
    for (const { name, send } of [
      { name: 'a response', send: (headers: Record<string, string>) => caller.create(REQUEST, { headers }) },
      { name: 'a chat completion', send: (headers: Record<string, string>) => chat(headers) },
      { name: 'a list of models', send: (headers: Record<string, string>) => caller.get('/v1/models', headers) },
    ]) {
      it(`go on to the backend with ${name}`, async () => {
        await (await send({ traceparent: TRACEPARENT, tracestate: 'vendor=opaque' })).text();
        expect(backend.requests[0]?.headers).to.include({ traceparent: TRACEPARENT, tracestate: 'vendor=opaque' });
      });
    }

    const cases: readonly { name: string; headers: Readonly<Record<string, string>>; expected: object }[] = [
      { name: 'nothing', headers: {}, expected: {} },
      { name: 'a state without a parent', headers: { tracestate: 'a=1' }, expected: {} },
      { name: 'upper case', headers: { traceparent: TRACEPARENT.toUpperCase() }, expected: {} },
      { name: 'a trace of zeros', headers: { traceparent: `00-${'0'.repeat(32)}-${SPAN_ID}-01` }, expected: {} },
      { name: 'a span of zeros', headers: { traceparent: `00-${TRACE_ID}-${'0'.repeat(16)}-01` }, expected: {} },
      { name: 'the version which is not allowed', headers: { traceparent: `ff${TRACEPARENT.slice(2)}` }, expected: {} },
      { name: 'a field too many', headers: { traceparent: `${TRACEPARENT}-01` }, expected: {} },
      { name: 'a field too few', headers: { traceparent: TRACEPARENT.slice(0, -3) }, expected: {} },
      { name: 'something else', headers: { traceparent: 'canary' }, expected: {} },
      {
        name: 'a parent that is too long',
        headers: { traceparent: `01${TRACEPARENT.slice(2)}-${'x'.repeat(600)}` },
        expected: {},
      },
      {
        name: 'a later version, as the one we know',
        headers: { traceparent: `01${TRACEPARENT.slice(2)}-more` },
        expected: { traceparent: TRACEPARENT },
      },
      {
        name: 'a state that is too long',
        headers: { traceparent: TRACEPARENT, tracestate: `a=${'1'.repeat(600)}` },
        expected: { traceparent: TRACEPARENT },
      },
      {
        name: 'a state with a part that is wrong',
        headers: { traceparent: TRACEPARENT, tracestate: 'a=1, Bad Key=2 ,b=3' },
        expected: { traceparent: TRACEPARENT, tracestate: 'a=1,b=3' },
      },
      {
        name: 'flags',
        headers: { traceparent: `${TRACEPARENT.slice(0, -2)}00` },
        expected: { traceparent: `${TRACEPARENT.slice(0, -2)}00` },
      },
    ];
    for (const { name, headers, expected } of cases) {
      it(`pass on of ${name}: ${Object.keys(expected).join(' and ') || 'nothing'}`, async () => {
        expect(await passedOn(headers)).to.deep.equal(expected);
      });
    }
  });

  describe('with an SDK', () => {
    let exporter: InMemorySpanExporter;

    beforeEach(() => {
      exporter = new InMemorySpanExporter();
      trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
    });

    afterEach(() => {
      trace.disable();
      context.disable();
    });

    /** The spans of one request, as soon as both are over. */
    async function spansOf(
      send: () => Promise<unknown>,
      count = 2,
    ): Promise<{ server: ReadableSpan; client?: ReadableSpan }> {
      await send();
      while (exporter.getFinishedSpans().length < count) await new Promise((resolve) => setImmediate(resolve));
      const spans = exporter.getFinishedSpans();
      expect(spans).to.have.length(count);
      expect(JSON.stringify(spans.map(({ name, attributes, events }) => [name, attributes, events]))).to.not.include(
        'canary',
      );
      const [server, client] = [SpanKind.SERVER, SpanKind.CLIENT].map((kind) =>
        spans.find((span) => span.kind === kind),
      );
      if (server === undefined) throw new Error('there is no span of the server');
      return client === undefined ? { server } : { server, client };
    }

    it('have a span of the request and, below it, one of the call, which the backend is told of', async () => {
      const { server, client } = await spansOf(() => passedOn({ traceparent: TRACEPARENT, tracestate: 'a=1' }));
      expect(server.parentSpanContext).to.deep.include({ traceId: TRACE_ID, spanId: SPAN_ID });
      expect(client?.parentSpanContext?.spanId).to.equal(server.spanContext().spanId);
      expect(backend.requests[0]?.headers).to.include({
        traceparent: `00-${TRACE_ID}-${client?.spanContext().spanId}-01`,
        tracestate: 'a=1',
      });
    });

    it('begin here when the caller has none', async () => {
      const { server, client } = await spansOf(() => passedOn({}));
      expect(server.parentSpanContext).to.equal(undefined);
      const { traceId, spanId } = client?.spanContext() ?? {};
      expect(traceId).to.equal(server.spanContext().traceId);
      expect(backend.requests[0]?.headers['traceparent']).to.equal(`00-${traceId}-${spanId}-01`);
    });

    it('name the backend of BACKENDS_FILE that was asked, with its place and its kind', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'tracing-'));
      const file = join(folder, 'backends.json');
      const backends = [
        { name: 'a', base_url: 'http://127.0.0.1:1/v1', dialect: 'vllm', models: ['other'] },
        { name: 'b', base_url: backend.baseUrl, dialect: 'mistral', models: ['m'] },
      ];
      writeFileSync(file, JSON.stringify({ backends }));
      await gateway.close();
      gateway = await openGateway({ BACKENDS_FILE: file });
      rmSync(folder, { recursive: true });
      caller = callerOf(gateway.url, 'canary-key');
      const { client } = await spansOf(() => passedOn({}));
      expect(client?.attributes).to.include({
        'responses_gateway.backend': 'b',
        'gen_ai.provider.name': 'mistral_ai',
        'server.port': backend.port,
      });
    });

    it('are named by the GenAI conventions, and have nothing of the content', async () => {
      const { server, client } = await spansOf(() => passedOn({}));
      const genAi = {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'mistral_ai',
        'gen_ai.request.model': 'm',
        'gen_ai.usage.input_tokens': 11,
        'gen_ai.usage.output_tokens': 7,
      };
      expect([server.name, client?.name]).to.deep.equal(['chat m', 'chat m']);
      expect(server.attributes).to.deep.equal({
        ...genAi,
        'http.request.method': 'POST',
        'http.route': '/v1/responses',
        'http.response.status_code': 200,
      });
      expect(client?.attributes).to.deep.equal({
        ...genAi,
        'server.address': '127.0.0.1',
        'server.port': backend.port,
      });
      expect(server.status.code).to.equal(SpanStatusCode.UNSET);
    });

    it('say what failed, also in the middle of a stream', async () => {
      backend.reply(stream([text('Hel')], 'cut'));
      const { server, client } = await spansOf(async () => (await caller.create({ ...REQUEST, stream: true })).text());
      for (const span of [server, client]) {
        expect(span?.attributes).to.include({ 'error.type': 'upstream_error' });
        expect(span?.status.code).to.equal(SpanStatusCode.ERROR);
      }
    });

    it('do not call a mistake of the caller an error of the server', async () => {
      const { server, client } = await spansOf(async () => (await caller.create({ model: 'm' })).text(), 1);
      expect(client).to.equal(undefined);
      expect(server.attributes).to.include({
        'error.type': 'missing_required_parameter',
        'http.response.status_code': 400,
      });
      expect(server.status.code).to.equal(SpanStatusCode.UNSET);
    });

    it('see chat completions and other paths, by as many names as there are endpoints', async () => {
      const { server } = await spansOf(async () => (await chat({})).text());
      expect(server.name).to.equal('chat');
      exporter.reset();
      const models = await spansOf(async () => (await caller.get('/v1/models/canary-model?canary=canary')).text());
      expect(models.server.name).to.equal('GET /v1/models');
      expect(models.client?.name).to.equal('GET /v1/models');
    });

    it('leave probes out', async () => {
      await (await caller.get('/healthz')).text();
      await spansOf(() => passedOn({}));
    });

    it('belong to the span which is active where the gateway is embedded', async () => {
      const outer = trace.getTracer('test').startSpan('outer');
      context.setGlobalContextManager({
        active: () => trace.setSpan(outerContext, outer),
        with: (_context, run, self, ...args) => run.call(self as never, ...args),
        bind: (_context, target) => target,
        enable() {
          return this;
        },
        disable() {
          return this;
        },
      });
      const { server } = await spansOf(() => passedOn({ traceparent: TRACEPARENT }));
      expect(server.parentSpanContext?.spanId).to.equal(outer.spanContext().spanId);
    });
  });
});

const outerContext = context.active();
