import { expect } from 'chai';
import type { TestSettings } from '../support/settings.ts';
import type { Store } from '../../src/core/books/store.ts';
import type { RequestRecord } from '../../src/contract/types.ts';
import { startScriptedBackend, type Script, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { AT_ONCE_MS, allArrived, until } from '../support/time.ts';
import { makeWorkshop } from '../support/sqlite.ts';
import { describeCancelRaces } from './cancel-races.ts';
import { readError, readRecord, readTold, type Caller, type Told } from './caller.ts';
import { answer, callArguments, finish, stream, text, usageChunk } from './chunks.ts';
import { callerBy, isJson, KINDS, type Kind } from './web-socket-caller.ts';

const KEY = { 'idempotency-key': 'key-1' };

interface Phase {
  readonly phase: string;
  readonly backend: Script;
  readonly settings?: TestSettings;
  /** What a caller who wants a stream is told; one who wants JSON always gets the error. */
  readonly streamEnds: 'as an error' | 'as an event';
  readonly usage?: 'known';
}

const PHASES: readonly Phase[] = [
  { phase: 'before the backend answers', backend: ({ hang }) => hang(), streamEnds: 'as an error' },
  {
    phase: 'between the headers of the backend and its first token',
    backend: stream([], 'hang'),
    streamEnds: 'as an error',
  },
  {
    phase: 'before the first token, but after the headers of the stream',
    backend: ({ hang }) => hang(),
    settings: { headerHoldMs: 0 },
    streamEnds: 'as an event',
  },
  { phase: 'in the middle of the text', backend: stream([text('Hello, wor')], 'hang'), streamEnds: 'as an event' },
  {
    phase: 'in the middle of the arguments of a call',
    backend: stream([callArguments('{"place": "Ber')], 'hang'),
    streamEnds: 'as an event',
  },
  {
    phase: 'after the finish reason, before the usage',
    backend: stream([text('Hello'), finish('stop')], 'hang'),
    streamEnds: 'as an event',
  },
  {
    phase: 'after the finish reason, with the usage',
    backend: stream([text('Hello'), usageChunk, finish('stop')], 'hang'),
    streamEnds: 'as an event',
    usage: 'known',
  },
  {
    phase: 'in the middle of a completion that is not streamed',
    backend: async ({ start, write, hang }) => {
      start(200, { 'content-type': 'application/json' });
      await write('{"choices": [{"index": 0, "message": {"content": "Hel');
      await hang();
    },
    streamEnds: 'as an error',
  },
];

describe('a cancel', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let gateway: TestGateway;
  let caller: Caller;
  const slowest = { answerMs: 0, abortMs: 0, finalMs: 0 };

  beforeEach(async () => {
    backend = await startScriptedBackend();
  });

  afterEach(async () => {
    await gateway.close();
    await backend.close();
  });

  after(() => {
    const { answerMs, abortMs, finalMs } = slowest;
    const [answer, abort, final] = [answerMs, abortMs, finalMs].map((ms) => `${ms.toFixed(1)} ms`);
    console.log(
      `\n  A cancel was answered within ${answer}; it reached the backend in ${abort}, the record in ${final}`,
    );
  });

  async function open(
    settings: TestSettings = {},
    overrides: { store?: Store } = {},
    kind: Kind = 'stream',
  ): Promise<void> {
    gateway = await openGateway({ UPSTREAM_BASE_URL: backend.baseUrl, ...settings }, overrides);
    caller = callerBy(kind, gateway.url);
  }

  /** The id of the request with the key, as soon as it has a record. */
  async function idOfKey(): Promise<string> {
    let found: Response;
    do found = await caller.get('/api/v1/requests', KEY);
    while (found.status !== 200);
    return (await readRecord(found)).request_id;
  }

  for (const [at, { phase, backend: script, settings, streamEnds, usage }] of PHASES.entries()) {
    // One that is told in JSON and one that is told by events.
    for (const kind of KINDS.filter((_, other) => (at + other) % 2 === 1)) {
      it(`${phase} stops the request and everybody learns of it (${kind})`, async () => {
        await open(settings, {}, kind);
        backend.reply(script);
        const asking = caller.create({ model: 'm', input: 'Hello', stream: kind === 'stream' }, { headers: KEY });
        const asked = await backend.request(1);
        const requestId = await idOfKey();
        await allArrived();

        const [startMs, startS] = [performance.now(), Math.floor(Date.now() / 1000)];
        const reply = await caller.cancel(requestId);
        const answerMs = performance.now() - startMs;
        expect(reply.status).to.equal(202);
        const accepted = await readRecord(reply);
        expect(accepted).to.deep.include({ request_id: requestId, status: 'processing' });
        expect(accepted.cancel_requested_at).to.be.within(startS, Date.now() / 1000);

        const record = await caller.final(requestId);
        const finalMs = performance.now() - startMs;
        expect(record).to.deep.include({
          status: 'cancelled',
          error: { code: 'request_cancelled', message: 'The request was cancelled.' },
          cancel_requested_at: accepted.cancel_requested_at,
          usage_estimated: usage !== 'known',
        });
        // The prompt for a summary is longer than what these requests say.
        expect(record.usage?.input_tokens).to.be.within(1, 1000);

        const { aborted, atMs } = await asked.closed;
        expect(aborted).to.equal(true);
        expect(Math.max(answerMs, atMs - startMs, finalMs)).to.be.within(0, AT_ONCE_MS);
        slowest.answerMs = Math.max(slowest.answerMs, answerMs);
        slowest.abortMs = Math.max(slowest.abortMs, atMs - startMs);
        slowest.finalMs = Math.max(slowest.finalMs, finalMs);

        const told = await asking;
        const asEvent = !isJson(kind) && streamEnds === 'as an event';
        expect(told.headers.get('x-request-id')).to.equal(requestId);
        expect(told.headers.get('x-should-retry')).to.equal(asEvent ? null : 'false');
        const expected: Told = asEvent
          ? { ends: 'cancelled', code: 'request_cancelled' }
          : { status: 409, code: 'request_cancelled' };
        expect(await readTold(told)).to.deep.equal(expected);

        const again = await caller.cancel(requestId);
        expect(again.status).to.equal(200);
        expect(await readRecord(again)).to.deep.equal(record);
        expect(await caller.record(requestId)).to.deep.equal(record);
      });
    }
  }

  for (const kind of KINDS) {
    const request = { model: 'm', input: 'Hello', stream: kind === 'stream' };

    it(`before the connection keeps the backend from ever being asked (${kind})`, async () => {
      const workshop = makeWorkshop();
      const store = await workshop.open({ file: undefined });
      const gate = Promise.withResolvers<void>();
      await open(
        {},
        {
          store: {
            ...store,
            async accept(draft) {
              const acceptance = await store.accept(draft);
              await gate.promise;
              return acceptance;
            },
          },
        },
        kind,
      );
      const asking = caller.create(request, { headers: KEY });
      const requestId = await idOfKey();
      expect((await caller.cancel(requestId)).status).to.equal(202);
      gate.resolve();
      expect(await readTold(await asking)).to.deep.equal({ status: 409, code: 'request_cancelled' });
      expect((await caller.final(requestId)).status).to.equal('cancelled');
      expect(backend.requests.length).to.equal(0);
      await workshop.clear();
    });

    it(`after the end changes nothing (${kind})`, async () => {
      await open({}, {}, kind);
      backend.always(answer());
      const reply = await caller.create(request);
      expect(await readTold(reply)).to.deep.equal({ ends: 'completed' });
      const requestId = reply.headers.get('x-request-id') ?? '';
      const record = await caller.final(requestId);
      const late = await caller.cancel(requestId);
      expect(late.status).to.equal(200);
      expect(await readRecord(late)).to.deep.equal(record);
      expect(await caller.record(requestId)).to.deep.equal(record);
      expect(record).to.deep.include({ status: 'succeeded', cancel_requested_at: null });
    });

    it(`asked for twenty times at once is one (${kind})`, async () => {
      await open({}, {}, kind);
      backend.reply(stream([text('Hello')], 'hang'));
      const asking = caller.create(request, { headers: KEY });
      const requestId = await idOfKey();
      const replies = await Promise.all(Array.from({ length: 20 }, () => caller.cancel(requestId)));
      const statuses = replies.map(({ status }) => status);
      expect(statuses.every((status) => status === 200 || status === 202)).to.equal(true);
      expect(statuses).to.include(202);
      const records = await Promise.all(replies.map(readRecord));
      expect(new Set(records.map((record) => record.cancel_requested_at)).size).to.equal(1);
      expect((await caller.final(requestId)).status).to.equal('cancelled');
      expect(await readTold(await asking)).to.deep.include({ code: 'request_cancelled' });
    });

    it(`takes the id of the response as well (${kind})`, async () => {
      await open({}, {}, kind);
      backend.reply(stream([text('Hello')], 'hang'));
      const asking = caller.create(request, { headers: KEY });
      const requestId = await idOfKey();
      const reply = await caller.cancel(requestId.replace('req_', 'resp_'));
      expect(reply.status).to.equal(202);
      expect((await readRecord(reply)).request_id).to.equal(requestId);
      expect((await caller.final(requestId)).status).to.equal('cancelled');
      await (await asking).text();
    });

    it(`without an idempotency key is not undone by an SDK that tries again (${kind})`, async () => {
      await open({}, {}, kind);
      backend.reply(({ hang }) => hang());
      const asking = caller.create(request);
      await backend.request(1);
      const list = async () => {
        const reply = await caller.get('/api/v1/requests');
        return ((await reply.json()) as { data: readonly RequestRecord[] }).data;
      };
      // A record that may be written at once with its end waits some milliseconds for that.
      await until(async () => (await list()).length > 0);
      expect((await caller.cancel((await list())[0]?.request_id ?? '')).status).to.equal(202);
      const told = await asking;
      expect(told.status).to.equal(409);
      expect(told.headers.get('x-should-retry')).to.equal('false');
      await told.text();
    });
  }

  describe('of what does not exist', () => {
    for (const id of ['req_0123456789abcdef0123456789abcdef', 'req_1', 'resp_', 'nonsense', '%00']) {
      it(`(${id}) is a 404`, async () => {
        await open();
        const reply = await caller.cancel(id);
        expect(reply.status).to.equal(404);
        expect((await readError(reply)).code).to.equal('request_not_found');
      });
    }
  });
});

describeCancelRaces(50);
