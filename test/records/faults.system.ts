import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { makeFaulty } from '../support/faulty-store.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { lockDatabase, makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { callerOf, readError, readTold, type Caller } from './caller.ts';
import { answer, finish, text, usageChunk } from './chunks.ts';
import { callerBy, KINDS } from './web-socket-caller.ts';

/** Long enough for the model to need a page of its own, so that no room is left by chance. */
const MODEL = 'm'.repeat(250);
const REQUEST = { model: MODEL, input: 'Hello' };
/** Long enough for a busy machine to accept a request while nothing is wrong. */
const ANSWER_WITHIN_MS = 1000;
/** A call that was made before this has been refused by now: the lane looks every 100 ms. */
const REFUSED_AFTER_MS = ANSWER_WITHIN_MS + 150;

interface Fault {
  readonly fault: string;
  /** Returns what takes the cause away. */
  readonly cause: (store: SqliteStore, workshop: Workshop) => Promise<() => Promise<unknown>>;
}

const FAULTS: readonly Fault[] = [
  {
    fault: 'a full disk',
    async cause(store) {
      await store.pragma(`max_page_count = ${String(await store.pragma('page_count'))}`);
      return () => store.pragma('max_page_count = 1000000');
    },
  },
  {
    fault: 'a read-only database',
    async cause(store) {
      await store.pragma('query_only = 1');
      return () => store.pragma('query_only = 0');
    },
  },
  {
    fault: 'a database that another process has locked',
    async cause(_store, workshop) {
      const unlock = lockDatabase(workshop.file);
      return async () => unlock();
    },
  },
];

describe('the gateway whose store is in trouble', () => {
  useRealSockets();

  let backend: ScriptedBackend;
  let workshop: Workshop;
  let store: SqliteStore;
  let gateway: TestGateway;
  let caller: Caller;
  let takeAway: (() => Promise<unknown>) | undefined;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    workshop = makeWorkshop();
    store = await workshop.open({ limits: { answerWithinMs: ANSWER_WITHIN_MS } });
    gateway = await open(store);
    caller = callerOf(gateway.url);
    takeAway = undefined;
  });

  afterEach(async () => {
    await takeAway?.();
    await gateway.close();
    await backend.close();
    await workshop.clear();
  });

  function open(store: Store): Promise<TestGateway> {
    return openGateway({ UPSTREAM_BASE_URL: backend.baseUrl }, { store });
  }

  async function readiness(): Promise<unknown> {
    const reply = await caller.get('/readyz');
    return { status: reply.status, ...((await reply.json()) as { checks: object }).checks };
  }

  /** Asks until it is refused; a few records may still find room in pages that are partly filled. */
  async function askUntilRefused(request: object): Promise<Response> {
    for (let attempt = 0; ; attempt += 1) {
      const reply = await caller.create(request, { headers: { 'idempotency-key': `key-${attempt}` } });
      if (reply.status !== 200 || attempt === 100) return reply;
      await reply.text();
    }
  }

  for (const { fault, cause } of FAULTS) {
    describe(`by ${fault}`, () => {
      for (const kind of KINDS) {
        it(`refuses a request before the backend is asked, and serves again afterwards (${kind})`, async () => {
          caller = callerBy(kind, gateway.url);
          backend.always(answer());
          const request = { ...REQUEST, stream: kind === 'stream' };
          takeAway = await cause(store, workshop);

          const refused = await askUntilRefused(request);
          const asked = backend.requests.length;
          expect(await readTold(refused)).to.deep.equal({ status: 503, code: 'store_unavailable' });
          expect(refused.headers.get('x-should-retry'), 'another attempt may succeed').to.equal(null);
          expect(await readiness()).to.deep.equal({ status: 503, accepting: true, store: false, secret: true });
          expect((await caller.get('/healthz')).status).to.equal(200);
          expect(backend.requests.length).to.equal(asked);

          await takeAway();
          takeAway = undefined;
          expect(await readTold(await caller.create(request))).to.deep.equal({ ends: 'completed' });
          await delay(210);
          expect(await readiness()).to.deep.equal({ status: 200, accepting: true, store: true, secret: true });
        });

        it(`ends what runs as if nothing were wrong, and records the end later (${kind})`, async () => {
          caller = callerBy(kind, gateway.url);
          const go = Promise.withResolvers<void>();
          backend.reply(async ({ sse, end }) => {
            await sse(text('Hel'));
            await go.promise;
            await sse(text('lo'), finish('stop'), usageChunk, '[DONE]');
            end();
          });
          const asking = caller.create({ ...REQUEST, stream: kind === 'stream' });
          await backend.request(1);
          await delay(60);
          takeAway = await cause(store, workshop);
          go.resolve();

          const reply = await asking;
          expect(await readTold(reply)).to.deep.equal({ ends: 'completed' });
          const requestId = reply.headers.get('x-request-id') ?? '';
          // A full disk has room for this, since it needs no new page.
          if (fault !== 'a full disk') expect((await caller.record(requestId)).status).to.equal('processing');
          await delay(REFUSED_AFTER_MS);
          await takeAway();
          takeAway = undefined;
          expect(await caller.final(requestId)).to.deep.include({ status: 'succeeded', error: null });
        });
      }
    });
  }

  it('by a lock of another process goes on with everything else meanwhile', async () => {
    await gateway.close();
    gateway = await open(await workshop.open({ limits: { answerWithinMs: 800 } }));
    caller = callerOf(gateway.url);
    const enough = new AbortController();
    backend.reply(async ({ sse, wait, end }) => {
      while (!enough.signal.aborted) {
        await sse(text('x'));
        await wait(5);
      }
      await sse(finish('stop'), '[DONE]');
      end();
    });
    const running = await caller.create({ ...REQUEST, stream: true });
    const reading = longestSilence(running);
    await delay(50);

    const unlock = lockDatabase(workshop.file);
    takeAway = async () => unlock();
    const loop = monitorEventLoopDelay({ resolution: 2 });
    loop.enable();
    const startMs = performance.now();
    const [refused, found] = await Promise.all([caller.create(REQUEST), caller.get('/api/v1/requests')]);
    const refusedMs = performance.now() - startMs;
    loop.disable();
    enough.abort();

    expect((await readError(refused)).code).to.equal('store_unavailable');
    expect(refusedMs).to.be.within(700, 10_000);
    expect(found.status).to.equal(200);
    await found.text();
    const silenceMs = await reading;
    // Were the lock waited for on this thread, the loop would stand still for most of the time, in one piece or in several.
    const [mostlyMs, longestMs] = [loop.percentile(80) / 1e6, loop.max / 1e6];
    expect(mostlyMs).to.be.below(80);
    expect(longestMs).to.be.below(700);
    expect(silenceMs).to.be.below(700);
    console.log(
      `\n  While the store waited ${refusedMs.toFixed(0)} ms for a lock, the event loop stood still for at most ` +
        `${longestMs.toFixed(1)} ms, mostly ${mostlyMs.toFixed(1)} ms, and a stream for ${silenceMs.toFixed(1)} ms`,
    );
  });

  it('says so on every route that needs it', async () => {
    await gateway.close();
    const faulty = makeFaulty(await workshop.open());
    faulty.fail('accept', 'find', 'list', 'findByIdempotencyKey', 'requestCancel');
    gateway = await open(faulty);
    caller = callerOf(gateway.url);
    const id = 'req_0123456789abcdef0123456789abcdef';
    const replies = [
      await caller.create(REQUEST),
      await caller.get(`/api/v1/requests/${id}`),
      await caller.get('/api/v1/requests'),
      await caller.get('/api/v1/requests', { 'idempotency-key': 'key' }),
      await caller.cancel(id),
    ];
    for (const reply of replies) {
      expect(reply.status).to.equal(503);
      expect((await readError(reply)).code).to.equal('store_unavailable');
    }
    expect(backend.requests.length).to.equal(0);
  });
});

/** Reads a stream to its end, and returns the longest time for which nothing came. */
async function longestSilence(reply: Response): Promise<number> {
  let longestMs = 0;
  let lastMs = performance.now();
  for await (const _ of reply.body ?? []) {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }
  return longestMs;
}

describe('a gateway that is started with a database which it cannot use', () => {
  let workshop: Workshop;

  beforeEach(() => {
    workshop = makeWorkshop();
    mkdirSync(dirname(workshop.file), { recursive: true });
  });
  afterEach(() => workshop.clear());

  const refusals: readonly { what: string; prepare: (file: string) => void; says: RegExp }[] = [
    { what: 'is corrupt', prepare: (file) => writeFileSync(file, 'x'.repeat(5000)), says: /is corrupt/ },
    {
      what: 'is newer than the program',
      prepare(file) {
        const database = new Sqlite(file);
        database.exec(`PRAGMA application_id = 1382379891;
          CREATE TABLE migrations (name TEXT PRIMARY KEY, applied_at_ms INTEGER NOT NULL) STRICT;
          INSERT INTO migrations VALUES ('9999_future', 0)`);
        database.close();
      },
      says: /was written by a newer version/,
    },
  ];
  for (const { what, prepare, says } of refusals) {
    it(`since it ${what} says so in one line, and ends`, async () => {
      prepare(workshop.file);
      const gateway = await startGatewayProcess({ DATABASE_URL: `file:${workshop.file}` });
      const { stderr, exitCode } = await gateway.ended();
      expect(gateway.url).to.equal(undefined);
      expect(stderr.trimEnd().split('\n')).to.have.length(1);
      expect(stderr).to.match(says);
      expect(exitCode).to.equal(1);
    });
  }
});
