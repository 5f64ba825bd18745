import { expect } from 'chai';
import { Client } from 'pg';
import type { BatchQueueLimits } from '../../../src/store/queue/batch-queue.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { type Store, type StoreLog, StoreOpenError } from '../../../src/core/books/store.ts';
import { answerDoubts } from '../../support/answer-doubts.ts';
import { newHold, newKeyDraft, newKeyId } from '../../support/keys.ts';
import { PATIENT, useImpatientStores } from '../../support/patient.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { CALLER, newDraft, newKeyedDraft, newOutcome, newRequestId } from '../../support/records.ts';
import { failureCode } from '../../support/sqlite.ts';
import { until } from '../../support/time.ts';
import { startStallingProxy, type StallingProxy } from '../../support/stalling-proxy.ts';

const server = await findPostgres();
/** Ten times the limit of the store. */
const SECONDS_MS = 20_000;

if (server !== undefined) {
  describe('the store on PostgreSQL, when things go wrong', () => {
    useImpatientStores();
    let database: TestDatabase;
    let proxy: StallingProxy;
    let stores: Store[];
    let said: string[];
    let stopAnswering: () => void;

    before(async () => {
      database = await createTestDatabase(server);
    });
    after(() => database.drop());
    beforeEach(async () => {
      const { hostname, port } = new URL(server);
      proxy = await startStallingProxy({ host: hostname, port: Number(port === '' ? '5432' : port) });
      stores = [];
      said = [];
      stopAnswering = () => undefined;
    });
    afterEach(async () => {
      stopAnswering();
      proxy.mend();
      await Promise.all(stores.map((store) => store.close()));
      await proxy.close();
      await database.empty();
    });

    const log: StoreLog = {
      info: (fields, message) => said.push(`${message} ${JSON.stringify(fields)}`),
      warn: (fields, message) => said.push(`${message} ${JSON.stringify(fields)}`),
    };

    async function open(url = database.url, limits: Partial<BatchQueueLimits> = {}): Promise<Store> {
      const store = await openPostgresStore({ url, poolSize: 3, clock: Date.now, log, limits });
      stores.push(store);
      return store;
    }

    function openByProxy(): Promise<Store> {
      const url = new URL(database.url);
      url.host = `127.0.0.1:${proxy.port}`;
      return open(url.href);
    }

    /** Three of them, and calls that go to them in turn. */
    async function openThree() {
      const openOne = () => open(database.url, PATIENT);
      const [first, second, third] = [await openOne(), await openOne(), await openOne()];
      stopAnswering = answerDoubts([first, second, third]);
      const at = (index: number) => [first, second, third][index % 3] ?? first;
      const inTurn = <Result>(times: number, call: (store: Store) => Promise<Result>) =>
        Promise.all(Array.from({ length: times }, (_, index) => call(at(index))));
      return { first, second, third, inTurn };
    }

    async function accepted(store: Store) {
      const draft = newDraft();
      await store.accept(draft);
      return draft;
    }

    async function within(ms: number, call: Promise<unknown>): Promise<string | undefined> {
      const startedAtMs = performance.now();
      const code = await failureCode(call);
      expect(performance.now() - startedAtMs).to.be.below(ms);
      return code;
    }

    // One statement alone is a transaction by itself, of which nobody knows whether it was committed: it is taken back.
    it('goes on when its connections are ended, without a failed call where nothing can have been committed', async () => {
      const store = await open();
      const { requestId } = await accepted(store);
      for (let round = 0; round < 3; round += 1) {
        await endConnections(database);
        await store.accept(newKeyedDraft(`name ${round}`));
        await endConnections(database);
        expect(await store.find(CALLER, requestId)).to.have.property('status', 'processing');
      }
      await store.finish(requestId, newOutcome());
    });

    it('refuses at once while no server is there, and writes what ended meanwhile when it is back', async () => {
      const store = await openByProxy();
      const { requestId } = await accepted(store);
      proxy.cut();
      expect(await within(SECONDS_MS, store.accept(newDraft()))).to.equal('store_unavailable');
      expect(await within(SECONDS_MS, store.checkWritable())).to.equal('store_unavailable');
      expect(await within(SECONDS_MS, store.find(CALLER, requestId))).to.equal('store_unavailable');
      expect(await within(SECONDS_MS, store.finish(requestId, newOutcome()))).to.equal('store_unavailable');
      proxy.mend();
      await until(async () => (await store.find(CALLER, requestId))?.status === 'succeeded');
    });

    it('answers within seconds when the server does not, and leaves nothing of what it refused', async () => {
      const store = await openByProxy();
      const { requestId } = await accepted(store);
      proxy.stall();
      const refused = newKeyedDraft();
      const codes = await Promise.all([
        within(SECONDS_MS, store.accept(refused)),
        within(SECONDS_MS, store.find(CALLER, requestId)),
        within(SECONDS_MS, store.finish(requestId, newOutcome())),
      ]);
      expect(codes).to.deep.equal(['store_unavailable', 'store_unavailable', 'store_unavailable']);
      proxy.mend();
      await until(async () => {
        const found = await store.find(CALLER, requestId).catch(() => undefined);
        return found?.status === 'succeeded';
      });
      await until(async () => (await store.find(CALLER, refused.requestId)) === undefined);
      expect(await store.accept(newKeyedDraft())).to.deep.equal({ kind: 'accepted' });
    });

    it('has no duplicate of what was committed without an answer', async () => {
      const [store, other] = [await openByProxy(), await open()];
      await accepted(store);
      stopAnswering = answerDoubts([store, other]);
      proxy.loseAnswersFrom('COMMIT\0');
      const first = newKeyedDraft();
      const refused = failureCode(store.accept(first));
      await until(async () => (await other.find(CALLER, first.requestId)) !== undefined);
      const attempt = async () => (await other.accept(newKeyedDraft()).catch(() => undefined))?.kind;
      const kinds = [await attempt()];
      expect(await refused).to.equal('store_unavailable');
      proxy.mend();
      await until(async () => kinds.push(await attempt()) > 0 && kinds.includes('accepted'));
      expect(kinds).not.to.include('duplicate');
      expect(await other.find(CALLER, first.requestId)).to.equal(undefined);
      expect(await store.accept(newKeyedDraft())).to.have.property('kind', 'duplicate');
    });

    it('takes back what it has refused when it was written all the same', async () => {
      const [store, other] = [await openByProxy(), await open()];
      await accepted(store);
      proxy.loseAnswers();
      const draft = newDraft();
      expect(await within(SECONDS_MS, store.accept(draft))).to.equal('store_unavailable');
      expect(await other.find(CALLER, draft.requestId), 'what nobody has heard of yet').to.include({
        status: 'processing',
      });
      proxy.mend();
      await until(async () => (await other.find(CALLER, draft.requestId)) === undefined);
    });

    it('writes the ends of requests that were kept beside the undo of a key', async () => {
      const [store, other] = [await openByProxy(), await open()];
      const drafts = [await accepted(store), await accepted(store), await accepted(store)];
      const key = newKeyDraft();
      proxy.loseAnswersFrom('COMMIT\0');
      const created = failureCode(store.createKey(key));
      await until(async () => (await other.findKey(key.keyId)) !== undefined);
      const ends = drafts.map(({ requestId }) => failureCode(store.finish(requestId, newOutcome())));
      proxy.cut();
      expect([await created, ...(await Promise.all(ends))]).to.deep.equal(Array(4).fill('store_unavailable'));
      proxy.mend();
      for (const { requestId } of drafts) {
        await until(async () => (await other.find(CALLER, requestId))?.status === 'succeeded');
      }
      await until(async () => (await other.findKey(key.keyId)) === undefined);
    });

    it('answers within seconds while somebody else has locked the tables', async () => {
      const store = await open();
      const { requestId } = await accepted(store);
      const other = new Client({ connectionString: database.url });
      await other.connect();
      await other.query('BEGIN; LOCK TABLE requests IN ACCESS EXCLUSIVE MODE');
      const finds = Array.from({ length: 20 }, () => store.find(CALLER, requestId));
      const codes = await Promise.all([store.accept(newDraft()), ...finds].map((call) => within(SECONDS_MS, call)));
      expect(new Set(codes)).to.deep.equal(new Set(['store_unavailable']));
      await other.end();
      await until(async () => (await failureCode(store.accept(newDraft()))) === undefined);
    });

    it('accepts and finishes while lists, of which there are more than connections, take too long', async () => {
      const store = await open(database.url, PATIENT);
      const other = new Client({ connectionString: database.url });
      await other.connect();
      // What lists the usage waits for it, and nothing else does.
      await other.query('BEGIN; LOCK TABLE usage IN ACCESS EXCLUSIVE MODE');
      const query = { fromMs: 0, untilMs: Date.now(), per: 'day' } as const;
      const lists = Array.from({ length: 40 }, () => store.listUsage(query));
      const draft = newDraft();
      await store.accept(draft);
      for (let times = 0; times < 5; times += 1) await store.accept(newDraft());
      const waiting = await database.run(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      expect(waiting, 'two of three connections are for other things').to.have.lengthOf.at.most(1);
      await other.query('ROLLBACK');
      await other.end();
      await Promise.all(lists);
      expect(await store.finish(draft.requestId, newOutcome())).to.equal('succeeded');
    });

    it('serves lookups of a database that cannot be written, and refuses the rest', async () => {
      const store = await open();
      const { requestId } = await accepted(store);
      await setReadOnly('on');
      expect(await within(SECONDS_MS, store.accept(newDraft()))).to.equal('store_unavailable');
      expect(await within(SECONDS_MS, store.checkWritable())).to.equal('store_unavailable');
      expect(await store.find(CALLER, requestId)).to.have.property('status', 'processing');
      await setReadOnly('off');
      // Of a connection that was ended in the middle of an accept, nobody knows what became of it.
      await until(async () => (await failureCode(store.accept(newDraft()))) === undefined);
      expect(said.filter((line) => line.startsWith('the store cannot be written'))).to.have.lengthOf(1);
    });

    it('goes on under another name after others took it for dead, and changes nothing they have closed', async () => {
      const [paused, other] = [await open(), await open()];
      const { keyId } = await other.createKey(newKeyDraft({ creditsMicro: 100 }));
      const draft = newDraft({ hold: { ...newHold(keyId, 30), interruptedCostMicro: 7 } });
      await paused.accept(draft);
      await database.age();
      expect(await other.recover()).to.equal(1);
      expect(await paused.finish(draft.requestId, newOutcome({ costMicro: 20 }))).to.equal('failed');
      const late = await paused.find(CALLER, draft.requestId);
      expect(late).to.include({ status: 'failed', errorCode: 'gateway_interrupted', costMicro: 7 });
      expect(await other.findKey(keyId)).to.include({ balanceMicro: 93, heldMicro: 0 });
      // The row of its owner goes with the next look.
      expect(await other.recover()).to.equal(0);
      const next = await accepted(paused);
      expect(await other.recover()).to.equal(0);
      expect(await paused.finish(next.requestId, newOutcome())).to.equal('succeeded');
    });

    it('keeps a name whose owner only seemed dead to itself', async () => {
      const store = await open();
      const { requestId } = await accepted(store);
      await database.age();
      expect(await store.recover()).to.equal(0);
      expect(await store.find(CALLER, requestId)).to.have.property('status', 'processing');
    });

    it('accepts one of a hundred equal drafts over three gateways', async () => {
      const { inTurn } = await openThree();
      const answers = await inTurn(100, (store) => store.accept(newKeyedDraft()));
      expect(answers.filter(({ kind }) => kind === 'accepted')).to.have.lengthOf(1);
      expect(answers.filter(({ kind }) => kind === 'duplicate')).to.have.lengthOf(99);
    });

    it('takes ten of 200 requests at once over three gateways when the funds suffice for ten', async () => {
      const { first, second, inTurn } = await openThree();
      const { keyId } = await first.createKey(newKeyDraft({ creditsMicro: 109 }));
      const answers = await inTurn(200, (store) => store.accept(newDraft({ hold: newHold(keyId, 10) })));
      expect(answers.filter(({ kind }) => kind === 'accepted')).to.have.lengthOf(10);
      expect(answers.filter((answer) => 'code' in answer && answer.code === 'insufficient_credits')).to.have.length(
        190,
      );
      expect(await second.findKey(keyId)).to.include({ balanceMicro: 9, heldMicro: 100 });
    });

    it('waits in no circle when gateways want the same keys and the same names in different orders', async () => {
      const { first, second, third, inTurn } = await openThree();
      const keyIds = (await inTurn(6, (store) => store.createKey(newKeyDraft({ creditsMicro: 1e9 })))).map(
        ({ keyId }) => keyId,
      );
      await inTurn(24, async (store) => {
        for (let turn = 0; turn < 12; turn += 1) {
          const place = store === second ? 11 - turn : turn;
          const hold = { ...newHold(keyIds[place % 6] ?? newKeyId(), 10), interruptedCostMicro: 1 };
          const draft = newKeyedDraft(`name ${place % 5}`, { hold });
          if ((await store.accept(draft)).kind !== 'accepted') continue;
          const freesIdempotencyKey = turn % 2 === 0;
          await store.finish(draft.requestId, newOutcome({ status: 'failed', costMicro: 3, freesIdempotencyKey }));
        }
      });
      for (const keyId of keyIds) {
        const ledger = await first.listLedger(keyId, { limit: 1000 });
        const sum = ledger?.entries.reduce((sum, { amountMicro }) => sum + amountMicro, 0);
        expect(await third.findKey(keyId)).to.include({ balanceMicro: sum, heldMicro: 0 });
      }
      // Many names in one batch, which each gateway hears in an order of its own.
      for (let round = 0; round < 20; round += 1) {
        await inTurn(150, (store) => store.accept(newKeyedDraft(`${round} ${Math.floor(Math.random() * 50)}`)));
      }
      expect(await countDeadlocks()).to.equal(0);
    });

    it('keeps names of models that its texts cannot hold, as far as they can', async () => {
      const store = await open();
      const [nul, half] = [newDraft({ model: 'a\0b' }), newDraft({ model: 'a\uD800b' })];
      await Promise.all([store.accept(nul), store.accept(half)]);
      for (const { requestId } of [nul, half]) {
        await store.finish(requestId, newOutcome());
        expect(await store.find(CALLER, requestId)).to.have.property('model', 'a\uFFFDb');
      }
    });

    it('lets no other call of a batch pay for a mistake of ours', async () => {
      const store = await open();
      const { requestId } = await accepted(store);
      const draft = newDraft();
      const twice = { ...newDraft(), requestId };
      const [good, bad] = await Promise.allSettled([store.accept(draft), store.accept(twice)]);
      expect(good).to.deep.include({ status: 'fulfilled', value: { kind: 'accepted' } });
      expect(bad).to.have.property('status', 'rejected');
      expect(await store.find(CALLER, draft.requestId)).to.have.property('status', 'processing');
    });

    it('loses no end of a request that finds its record locked while its batch is taken apart for a mistake', async () => {
      const store = await open();
      const [draft, ended] = [await accepted(store), await accepted(store)];
      await store.finish(ended.requestId, newOutcome());
      const other = new Client({ connectionString: database.url });
      await other.connect();
      await other.query(`BEGIN; SELECT FROM requests WHERE request_id = '${draft.requestId}' FOR UPDATE`);
      const finished = failureCode(store.finish(draft.requestId, newOutcome()));
      const twice = failureCode(store.accept({ ...newDraft(), requestId: ended.requestId }));
      const codes = await Promise.all([finished, twice]);
      await other.end();
      expect(codes[0]).to.equal('store_unavailable');
      await until(async () => (await store.find(CALLER, draft.requestId))?.status === 'succeeded');
    });

    const unusable = [
      { what: 'a server that is not there', change: (url: URL) => (url.port = '1') },
      { what: 'a database that does not exist', change: (url: URL) => (url.pathname = '/no_such_database') },
    ];
    for (const { what, change } of unusable) {
      it(`cannot be opened on ${what}, and says so in one line without the password`, async () => {
        const url = new URL(database.url);
        url.password = 'canary';
        change(url);
        const error: unknown = await open(url.href).catch((error: unknown) => error);
        expect(error).to.be.instanceOf(StoreOpenError);
        expect(String(error)).to.match(/^StoreOpenError: The database postgres:\/\/[^\n]+ cannot be opened: [^\n]+$/);
        expect(String(error)).not.to.contain('canary');
      });
    }

    it('refuses a database of a newer version, unless that allows this one beside it', async () => {
      await open();
      await database.run(`INSERT INTO migrations (name, applied_at_ms, runs_beside)
        VALUES ('9998_expand', 0, '0003_ledger_references')`);
      await open();
      await database.run(`INSERT INTO migrations (name, applied_at_ms) VALUES ('9999_contract', 0)`);
      const error: unknown = await open().catch((error: unknown) => error);
      await database.run(`DELETE FROM migrations WHERE name LIKE '999%'`);
      expect(String(error)).to.match(/written by a newer version of this program \(it has "9999_contract"\)/);
    });

    it('is migrated once by several that start together', async () => {
      const fresh = await createTestDatabase(server);
      const opened = await Promise.all([open(fresh.url), open(fresh.url), open(fresh.url)]);
      await opened[2]?.accept(newDraft({ requestId: newRequestId() }));
      await Promise.all(opened.map((store) => store.close()));
      stores = [];
      await fresh.drop();
    });

    /** Closes all stores, since their sessions report at their end what they have counted. */
    async function countDeadlocks(): Promise<number> {
      await Promise.all(stores.map((store) => store.close()));
      stores = [];
      await until(async () => {
        const sessions = await database.run(
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'responses-gateway'",
        );
        return sessions.length === 0;
      });
      const [row] = await database.run('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()');
      return Number((row as { deadlocks: string }).deadlocks);
    }

    async function setReadOnly(value: 'on' | 'off'): Promise<void> {
      const name = new URL(database.url).pathname.slice(1);
      await database.run(`ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
      await endConnections(database);
    }
  });
}

async function endConnections(database: TestDatabase): Promise<void> {
  await database.run(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
}
