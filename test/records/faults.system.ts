import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import type { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/core/books/store.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { makeFaulty } from '../support/faulty-store.ts';
import { useJumps } from '../support/jump-time.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { PATIENT } from '../support/patient.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { lockDatabase, makeWorkshop, type Workshop } from '../support/sqlite.ts';
import { until, turn } from '../support/time.ts';
import { callerOf, readError, readTold, type Caller } from './caller.ts';
import { answer, finish, text, usageChunk } from './chunks.ts';
import { callerBy, KINDS } from './web-socket-caller.ts';

/** Long enough for the model to need a page of its own, so that no room is left by chance. */
const MODEL = 'm'.repeat(250);
const REQUEST = { model: MODEL, input: 'Hello' };

interface Fault {
  readonly fault: string;
  /** The store tries again until its time is over. */
  readonly isTriedAgain?: true;
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
    isTriedAgain: true,
    async cause(_store, workshop) {
      const unlock = lockDatabase(workshop.file);
      return async () => unlock();
    },
  },
];

describe('the gateway whose store is in trouble', () => {
  useRealSockets();
  const jump = useJumps();

  let backend: ScriptedBackend;
  let workshop: Workshop;
  let store: SqliteStore;
  let gateway: TestGateway;
  let caller: Caller;
  let takeAway: (() => Promise<unknown>) | undefined;

  beforeEach(async () => {
    backend = await startScriptedBackend();
    workshop = makeWorkshop();
    store = await workshop.open({ isInline: false });
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

  async function statuses(): Promise<readonly string[]> {
    const { data } = (await (await caller.get('/api/v1/requests')).json()) as { data: { status: string }[] };
    return data.map(({ status }) => status);
  }

  async function readiness(): Promise<unknown> {
    const reply = await caller.get('/readyz');
    return { status: reply.status, ...((await reply.json()) as { checks: object }).checks };
  }

  /** Lets the limit of the store pass, again and again, until this is settled. */
  async function outOfTime<Value>(promise: Promise<Value>): Promise<Value> {
    const over = new AbortController();
    const settle = () => over.abort();
    promise.then(settle, settle);
    while (!over.signal.aborted) {
      await turn(20);
      jump(PATIENT.answerWithinMs);
    }
    return promise;
  }

  /** Asks until it is refused; a few records may still find room in pages that are partly filled. */
  async function askUntilRefused(request: object): Promise<Response> {
    for (let attempt = 0; ; attempt += 1) {
      const reply = await caller.create(request, { headers: { 'idempotency-key': `key-${attempt}` } });
      if (reply.status !== 200 || attempt === 100) return reply;
      await reply.text();
    }
  }

  for (const { fault, cause, isTriedAgain } of FAULTS) {
    const refusalOf = <Value>(promise: Promise<Value>) => (isTriedAgain ? outOfTime(promise) : promise);

    describe(`by ${fault}`, () => {
      for (const kind of KINDS) {
        it(`refuses a request before the backend is asked, and serves again afterwards (${kind})`, async () => {
          caller = callerBy(kind, gateway.url);
          backend.always(answer());
          const request = { ...REQUEST, stream: kind === 'stream' };
          takeAway = await cause(store, workshop);

          const refused = await refusalOf(askUntilRefused(request));
          const asked = backend.requests.length;
          expect(await readTold(refused)).to.deep.equal({ status: 503, code: 'store_unavailable' });
          expect(refused.headers.get('x-should-retry'), 'another attempt may succeed').to.equal(null);
          const checks = await refusalOf(readiness());
          expect(checks).to.deep.equal({
            status: 503,
            accepting: true,
            store: false,
            secret: true,
            backend: true,
            connections: true,
          });
          expect((await caller.get('/healthz')).status).to.equal(200);
          expect(backend.requests.length).to.equal(asked);

          await takeAway();
          takeAway = undefined;
          expect(await readTold(await caller.create(request))).to.deep.equal({ ends: 'completed' });
          await until(async () => (await caller.get('/readyz')).status === 200);
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
          await until(async () => (await statuses()).includes('processing'));
          takeAway = await cause(store, workshop);
          go.resolve();

          // The end of the reply waits for the record until the store gives up.
          const reply = await outOfTime(asking);
          expect(await outOfTime(readTold(reply))).to.deep.equal({ ends: 'completed' });
          const requestId = reply.headers.get('x-request-id') ?? '';
          // A full disk has room for this, since it needs no new page.
          if (fault !== 'a full disk') {
            expect((await caller.record(requestId)).status).to.equal('processing');
            await refusalOf(until(() => workshop.said.includes('the store cannot be written')));
          }
          await takeAway();
          takeAway = undefined;
          expect(await caller.final(requestId)).to.deep.include({ status: 'succeeded', error: null });
        });
      }
    });
  }

  it('by a lock of another process goes on with everything else meanwhile', async () => {
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
    let pieces = 0;
    const read = (async () => {
      for await (const _ of running.body ?? []) pieces += 1;
    })();

    const unlock = lockDatabase(workshop.file);
    takeAway = async () => unlock();
    let isRefused = false;
    const refusing = caller.create(REQUEST).finally(() => (isRefused = true));
    const before = pieces;
    // Were the lock waited for on this thread, all of this would come after the refusal.
    await until(() => pieces > before + 20);
    expect((await caller.get('/api/v1/requests')).status).to.equal(200);
    expect(isRefused).to.equal(false);
    const refused = await outOfTime(refusing);
    enough.abort();

    expect((await readError(refused)).code).to.equal('store_unavailable');
    await outOfTime(read);
  });

  it('says so on every route that needs it', async () => {
    await gateway.close();
    const faulty = makeFaulty(await workshop.open({ isInline: false }));
    faulty.fail('accept', 'record', 'find', 'list', 'findByIdempotencyKey', 'requestCancel');
    gateway = await open(faulty);
    caller = callerOf(gateway.url);
    const id = 'req_0123456789abcdef0123456789abcdef';
    const replies = [
      // With a key, the backend is not asked before the record is there.
      await caller.create(REQUEST, { headers: { 'idempotency-key': 'key' } }),
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
          CREATE TABLE migrations (name TEXT PRIMARY KEY, applied_at_ms INTEGER NOT NULL, runs_beside TEXT) STRICT;
          INSERT INTO migrations VALUES ('9999_future', 0, NULL)`);
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
