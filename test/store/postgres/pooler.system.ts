import { expect } from 'chai';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { StoreOpenError, type Store, type StoreLog } from '../../../src/core/books/store.ts';
import { isPgBouncerInstalled, startPgBouncer, type Pooler, type PoolerOptions } from '../../support/pgbouncer.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { CALLER, newDraft, newKeyedDraft, newOutcome } from '../../support/records.ts';
import { useRealSockets } from '../../support/real-sockets.ts';
import { until } from '../../support/time.ts';

const server = await findPostgres();

if (server !== undefined && isPgBouncerInstalled()) {
  describe('the store on PostgreSQL behind PgBouncer', () => {
    useRealSockets();
    let database: TestDatabase;
    let pooler: Pooler | undefined;
    let stores: Store[];
    let said: string[];

    beforeEach(async () => {
      [stores, said] = [[], []];
      database = await createTestDatabase(server);
    });
    afterEach(async () => {
      await Promise.all(stores.map((store) => store.close()));
      await pooler?.close();
      pooler = undefined;
      await database.drop();
    });

    const log: StoreLog = { info: () => undefined, warn: (_fields, message) => void said.push(message) };

    /** Several at the same moment, on an empty database. */
    async function openAll(options: PoolerOptions, count = 3): Promise<readonly Store[]> {
      const { url } = (pooler = await startPgBouncer(database.url, options));
      const opening = Array.from({ length: count }, () =>
        openPostgresStore({ url, poolSize: 5, clock: Date.now, log }),
      );
      const opened = await Promise.allSettled(opening);
      stores = opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      const failed = opened.find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected') throw failed.reason;
      return stores;
    }

    for (const count of [1, 3]) {
      it(`that shares sessions and forgets prepared statements refuses to open, in one sentence, for ${count} at once`, async () => {
        const refusal: unknown = await openAll({ mode: 'transaction', keeps: 0 }, count).catch(
          (error: unknown) => error,
        );
        expect(refusal).to.be.instanceOf(StoreOpenError);
        expect(stores).to.have.lengthOf(0);
        expect(String(refusal)).to.match(
          /^StoreOpenError: The database postgres:\S+ cannot be opened: prepared statement "\w+" (?:already exists|does not exist) \(a pooler in transaction mode must keep prepared statements, as PgBouncer does with max_prepared_statements\)\.$/,
        );
      });
    }

    for (const options of [
      { mode: 'transaction', keeps: 200 },
      { mode: 'session', keeps: 0 },
    ] as const) {
      it(`in ${options.mode} mode with ${options.keeps} prepared statements works as without it`, async () => {
        const opened = await openAll(options);
        const at = (index: number): Store => opened[index % opened.length] as Store;
        const drafts = Array.from({ length: 300 }, () => newDraft());
        await Promise.all(drafts.map((draft, index) => at(index).accept(draft)));
        await Promise.all(drafts.map(({ requestId }, index) => at(index).finish(requestId, newOutcome())));
        for (const { requestId } of drafts.slice(0, 20))
          expect(await at(1).find(CALLER, requestId)).to.include({ status: 'succeeded' });
        await at(0).accept(newKeyedDraft('once'));
        const asked = at(0);
        const answering = setInterval(() => void asked.listCancelRequested(), 20);
        const again = await at(1).accept(newKeyedDraft('once'));
        clearInterval(answering);
        expect(again.kind).to.equal('duplicate');
      });
    }

    it('finds a cancel by looking where notices do not arrive, and says so once', async () => {
      const [here, elsewhere] = await openAll({ mode: 'transaction', keeps: 200 }, 2);
      const stop = here?.hearCancels(() => undefined);
      await until(() => said.length > 0);
      const draft = newDraft();
      await here?.accept(draft);
      await elsewhere?.requestCancel(CALLER, draft.requestId);
      expect(await here?.listCancelRequested()).to.deep.equal([draft.requestId]);
      expect(said).to.deep.equal(['cancels which other processes were asked for are only heard by looking for them']);
      stop?.();
    });
  });
}
