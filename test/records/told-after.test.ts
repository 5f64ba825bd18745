/** Nothing is told before it is on disk: the end of a reply waits for the final state of its record. */

import { expect } from 'chai';
import type { ChatBackend } from '../../src/backend/chat.ts';
import type { ChatBatch } from '../../src/core/chat.ts';
import { ApiError } from '../../src/core/errors.ts';
import { openStore } from '../../src/store/open.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { startScriptedBackend, type Reply, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { listen } from '../support/heard.ts';
import { useHeldTime } from '../support/held-time.ts';
import { makeHeld, type HeldStore } from '../support/held-store.ts';
import { openManagedGateway } from '../support/managed.ts';
import { PATIENT } from '../support/patient.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { makeWorkshop } from '../support/sqlite.ts';
import { allArrived, until } from '../support/time.ts';
import { callerOf, type Caller } from './caller.ts';
import { answer, finish, text, usageChunk } from './chunks.ts';
import { callerBy, isJson, KINDS } from './web-socket-caller.ts';

const METRICS_TOKEN = 'the-token-of-the-metrics';
/** A short reply without it is recorded at once with its end. */
const KEY = { 'idempotency-key': 'key-1' };
const NAMELESS_CALL = {
  choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'call_1', function: { arguments: '{}' } }] } }],
};
/** More than an answer may have: what reads it gives up at once. */
const TOO_MANY_CALLS = {
  choices: [{ index: 0, delta: { tool_calls: Array.from({ length: 1025 }, () => ({ function: { name: 'f' } })) } }],
};
/** Not every kernel takes as much at once as this has. */
const failingInOnePiece: ChatBackend = {
  async ask(_request, _options, listener) {
    listener.begin({ headers: {}, leftOut: [], limitTotal: () => undefined });
    const chunks = [text('Hello'), TOO_MANY_CALLS, finish('tool_calls')] as ChatBatch['chunks'];
    await listener.take({ chunks, done: true });
  },
  close: () => Promise.resolve(),
};
/** As it is where nobody sets it. */
const HEADER_HOLD_MS = 10_000;
const REQUEST = { model: 'm', input: 'Hi', stream: true };
const MESSAGES = [{ role: 'user', content: 'Hello' }];

describe('the end of a reply', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let store: HeldStore;
  let gateway: TestGateway;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    store = makeHeld(await openStore({ databaseUrl: ':memory:', recordRetentionDays: 30, limits: PATIENT }));
  });

  afterEach(async () => {
    store.letGo();
    await gateway.close();
    await backend.close();
  });

  async function open(asked?: ChatBackend): Promise<void> {
    const overrides = asked === undefined ? { store } : { store, backend: asked };
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, overrides);
  }

  async function openManaged(): Promise<Caller> {
    const managed = await openManagedGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { store });
    gateway = managed;
    return callerOf(managed.url, (await managed.issue()).secret);
  }

  const REPLIES: readonly { readonly name: string; readonly script: Reply; readonly status: string }[] = [
    { name: 'an answer', script: answer(), status: 'succeeded' },
    { name: 'a refusal', script: { json: { error: { message: 'no' } }, status: 400 }, status: 'failed' },
    { name: 'a failure', script: { json: {}, status: 500 }, status: 'failed' },
  ];

  for (const kind of KINDS) {
    for (const { name, script, status } of REPLIES) {
      it(`waits until the record of ${name} is final (${kind})`, async () => {
        await open();
        backend.reply(script);
        const settling = store.hold('finish');
        const heard = listen(
          callerBy(kind, gateway.url).create({ model: 'm', input: 'Hello', stream: kind === 'stream' }),
        );
        await settling;
        await allArrived();
        expect(heard.text).not.to.match(/response\.(?:completed|failed)|DONE/);
        expect(heard.isOver).to.equal(false);
        if (kind !== 'stream') expect(heard.status, 'nothing is told').to.be.oneOf([0, 200]);
        store.letGo();
        await until(() => heard.isOver);
        expect((await callerOf(gateway.url).record(heard.requestId)).status).to.equal(status);
      });
    }
  }

  for (const { name, script, status } of REPLIES) {
    for (const stream of [false, true]) {
      it(`waits until the record of ${name} to a chat completion is final (${stream ? 'stream' : 'json'})`, async () => {
        const caller = await openManaged();
        backend.reply(script);
        const settling = store.hold('finish');
        const heard = listen(caller.complete({ model: 'm', messages: MESSAGES, stream }));
        await settling;
        await allArrived();
        expect(heard.text).not.to.include('DONE');
        expect(heard.isOver).to.equal(false);
        store.letGo();
        await until(() => heard.isOver);
        expect((await caller.record(heard.requestId)).status).to.equal(status);
      });
    }
  }

  it('is all that waits: what came before it is told at once', async () => {
    await open();
    const told = Promise.withResolvers<void>();
    backend.reply(async ({ sse, end }) => {
      await sse(text('Hello'));
      await told.promise;
      await sse(finish('stop'), usageChunk, '[DONE]');
      end();
    });
    const settling = store.hold('finish');
    const heard = listen(gateway.create({ model: 'm', input: 'Hello', stream: true }));
    await until(() => heard.text.includes('output_text.delta'));
    told.resolve();
    await settling;
    store.letGo();
    await until(() => heard.text.includes('[DONE]'));
  });

  describe('that came in one piece before its record had begun', () => {
    const pass = useHeldTime();

    for (const kind of KINDS.filter((kind) => !isJson(kind))) {
      it(`comes with all before it after one commit (${kind})`, async () => {
        await open();
        backend.reply({ sse: [text('Hello'), finish('stop'), usageChunk] });
        const recording = store.hold('record');
        const heard = listen(callerBy(kind, gateway.url).create(REQUEST));
        await recording;
        await allArrived();
        expect(heard.text).to.equal('');
        store.letGo();
        await until(() => heard.text.includes('response.completed'));
        expect(heard.text).to.match(/response\.created[^]*output_text\.delta[^]*output_text\.done/);
        expect((await callerOf(gateway.url).record(heard.requestId)).status).to.equal('succeeded');
      });

      it(`is awaited even if that takes longer than the headers wait (${kind})`, async () => {
        await open();
        backend.reply(answer());
        const recording = store.hold('record');
        const heard = listen(callerBy(kind, gateway.url).create(REQUEST));
        await recording;
        await pass(HEADER_HOLD_MS);
        await allArrived();
        expect(heard.text).to.equal('');
        expect(heard.status).to.equal(0);
        store.letGo();
        await until(() => heard.isOver);
        expect(heard.text).to.include('response.completed');
      });

      it(`follows what was said if the answer fails (${kind})`, async () => {
        await open();
        backend.reply({ sse: [text('Hello'), NAMELESS_CALL, finish('tool_calls')] });
        const accepting = store.hold('accept');
        const heard = listen(callerBy(kind, gateway.url).create(REQUEST));
        await accepting;
        await allArrived();
        expect(heard.text).to.equal('');
        store.letGo();
        await until(() => heard.text.includes('response.failed'));
        expect(heard.text).to.match(/output_text\.delta[^]*without a name/);
        expect((await callerOf(gateway.url).record(heard.requestId)).status).to.equal('failed');
      });

      it(`is a refusal, after its record, if the piece itself fails (${kind})`, async () => {
        await open(failingInOnePiece);
        const recording = store.hold('record');
        const heard = listen(callerBy(kind, gateway.url).create(REQUEST));
        await recording;
        await allArrived();
        expect(heard.text).to.equal('');
        store.letGo();
        await until(() => heard.isOver);
        expect(heard.status).to.equal(502);
        expect(heard.text).not.to.include('Hello');
        expect((await callerOf(gateway.url).record(heard.requestId)).status).to.equal('failed');
      });

      it(`is a refusal if it cannot be recorded (${kind})`, async () => {
        await open();
        backend.reply({ sse: [text('Hello'), finish('stop'), usageChunk] });
        const recording = store.hold('record');
        const heard = listen(callerBy(kind, gateway.url).create(REQUEST));
        await recording;
        store.letGo(new ApiError('store_unavailable'));
        await until(() => heard.isOver);
        expect(heard.status).to.equal(503);
        expect(heard.text).not.to.include('Hello');
      });
    }
  });

  describe('that came in one piece after its record had begun', () => {
    const pass = useHeldTime();

    for (const kind of KINDS.filter((kind) => !isJson(kind))) {
      it(`comes with all before it if it is recorded within 20 ms (${kind})`, async () => {
        await open();
        backend.reply({ sse: [text('Hello'), finish('stop'), usageChunk] });
        const settling = store.hold('finish');
        const heard = listen(callerBy(kind, gateway.url).create(REQUEST, { headers: KEY }));
        await settling;
        await pass(19);
        await allArrived();
        expect(heard.text).to.equal('');
        store.letGo();
        await until(() => heard.text.includes('response.completed'));
        expect(heard.text).to.match(/response\.created[^]*output_text\.delta[^]*output_text\.done/);
        expect(heard.text.match(/output_text\.delta/g), 'told once').to.have.length(2);
      });

      it(`comes after all before it if it is recorded later (${kind})`, async () => {
        await open();
        backend.reply({ sse: [text('Hello'), finish('stop'), usageChunk] });
        const settling = store.hold('finish');
        const heard = listen(callerBy(kind, gateway.url).create(REQUEST, { headers: KEY }));
        await settling;
        await pass(20);
        await until(() => heard.text.includes('output_text.delta'));
        expect(heard.text).not.to.match(/output_text\.done|response\.completed|DONE/);
        store.letGo();
        await until(() => heard.text.includes('response.completed'));
      });
    }
  });

  it('comes although its client left while the record was being written', async () => {
    await open();
    backend.reply(answer());
    const settling = store.hold('finish');
    const leaving = new AbortController();
    const asking = gateway.create({ model: 'm', input: 'Hello' }, { signal: leaving.signal });
    asking.catch(() => undefined);
    await settling;
    leaving.abort();
    await allArrived();
    store.letGo();
    backend.reply(answer());
    expect((await gateway.create({ model: 'm', input: 'Hello' })).status).to.equal(200);
  });

  it('does not wait for a store that is that is too slow, which is logged and counted', async () => {
    const workshop = makeWorkshop();
    const lines: string[] = [];
    const slow = await workshop.open({ limits: { ...PATIENT, keptWithinMs: 100 } });
    gateway = await openGateway(
      { UPSTREAM_BASE_URL: backend.baseUrl, METRICS_TOKEN },
      { store: slow, log: createLogger('error', { write: (line) => void lines.push(line) }) },
    );
    backend.reply(async (stage) => {
      await slow.pragma('query_only = 1');
      await answer()(stage);
    });
    const headers = { 'idempotency-key': 'key-1' };
    const reply = await gateway.create({ model: 'm', input: 'Hello' }, { headers });
    expect(reply.status).to.equal(200);
    expect(lines.join('')).to.include('the end of the request is not recorded yet');
    const metrics = await fetch(`${gateway.url}/metrics`, {
      headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    });
    expect(await metrics.text()).to.include('responses_gateway_replies_before_record_total{endpoint="responses"} 1');
    await slow.pragma('query_only = 0');
    const { status } = await callerOf(gateway.url).final(reply.headers.get('x-request-id') ?? '');
    expect(status).to.equal('succeeded');
    await workshop.clear();
  });
});
