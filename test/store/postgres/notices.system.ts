import { expect } from 'chai';
import { listenForNotices, type NoticeOptions } from '../../../src/store/postgres/notices.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { openPool, type Connections } from '../../../src/store/postgres/pool.ts';
import type { Store } from '../../../src/core/books/store.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { CALLER, newDraft } from '../../support/records.ts';
import { until } from '../../support/time.ts';
import { startStallingProxy, type StallingProxy } from '../../support/stalling-proxy.ts';

const server = await findPostgres();
const SILENT = { info: () => undefined, warn: () => undefined };

if (server !== undefined) {
  describe('a cancel which another process was asked for, on PostgreSQL', () => {
    let database: TestDatabase;
    let proxy: StallingProxy;
    let proxied: string;
    let said: string[];
    let notices: number;
    let closing: (() => Promise<void>)[];

    before(async () => {
      database = await createTestDatabase(server);
    });
    after(() => database.drop());
    beforeEach(async () => {
      const { hostname, port } = new URL(server);
      proxy = await startStallingProxy({ host: hostname, port: Number(port === '' ? '5432' : port) });
      const url = new URL(database.url);
      url.host = `127.0.0.1:${proxy.port}`;
      proxied = url.href;
      said = [];
      notices = 0;
      closing = [];
    });
    afterEach(async () => {
      for (const close of closing.toReversed()) await close();
      await proxy.close();
    });

    async function openStore(): Promise<Store> {
      const options = { url: database.url, poolSize: 2, clock: Date.now, log: SILENT };
      const store = await openPostgresStore(options);
      closing.push(() => store.close());
      return store;
    }

    /** By way of the proxy, while what is sent goes there directly. */
    function listen(options: Partial<NoticeOptions> = {}): Connections {
      const connections = openPool({ url: database.url, size: 1, onLost: () => undefined });
      const log = { info: () => void said.push('again'), warn: () => void said.push('deaf') };
      const onNotice = () => void (notices += 1);
      const times = { tryMs: 50, heardWithinMs: 500, ...options };
      const stop = listenForNotices({ url: proxied, connections, nameOf: () => 'me', onNotice, log, ...times });
      closing.push(async () => {
        await stop();
        await connections.close();
      });
      return connections;
    }

    const notify = (name: string) => database.run(`SELECT pg_notify('responses_gateway_cancels', '${name}')`);

    /** Until a notice is heard, since nobody says when the listening has begun. */
    async function hear(): Promise<void> {
      const before = notices;
      await until(async () => {
        await notify('me');
        return notices > before;
      });
    }

    it('is heard by the process that runs the request, and by no other', async () => {
      const [here, elsewhere, third] = [await openStore(), await openStore(), await openStore()];
      const heard = { here: 0, elsewhere: 0, third: 0 };
      here.hearCancels(() => void heard.here++);
      elsewhere.hearCancels(() => void heard.elsewhere++);
      third.hearCancels(() => void heard.third++);
      // Each hears of itself once it listens.
      await until(() => Object.values(heard).every((times) => times === 1));
      const drafts = Array.from({ length: 20 }, () => newDraft());
      const latenciesMs: number[] = [];
      for (const [index, draft] of drafts.entries()) {
        await here.accept(draft);
        const askedAtMs = performance.now();
        const asking = elsewhere.requestCancel(CALLER, draft.requestId);
        await until(() => heard.here === index + 2);
        latenciesMs.push(performance.now() - askedAtMs);
        await asking;
        expect(await here.listCancelRequested()).to.include(draft.requestId);
      }
      expect(heard).to.deep.equal({ here: 21, elsewhere: 1, third: 1 });
      // What the process itself was asked for it knows.
      await here.requestCancel(CALLER, drafts[0]?.requestId ?? newDraft().requestId);
      await notify('nobody');
      await elsewhere.requestCancel(CALLER, drafts[1]?.requestId ?? newDraft().requestId);
      await until(() => heard.here === 22);
      expect(heard).to.deep.equal({ here: 22, elsewhere: 1, third: 1 });
      latenciesMs.sort((one, other) => one - other);
      const [median, most] = [latenciesMs[10] ?? 0, latenciesMs.at(-1) ?? 0];
      console.log(
        `  a cancel is heard elsewhere after ${median.toFixed(1)} ms, at most ${most.toFixed(1)} ms (20 tries)`,
      );
    });

    it('is heard no more when the listening is ended', async () => {
      listen();
      await hear();
      await closing.pop()?.();
      const before = notices;
      await notify('me');
      const store = await openStore();
      await store.checkWritable();
      expect(notices).to.equal(before);
    });

    it('is heard again after the connection was lost', async () => {
      listen();
      await hear();
      for (let times = 0; times < 3; times += 1) {
        proxy.cut();
        proxy.mend();
        await hear();
      }
    });

    it('is said not to be heard where notices do not arrive, once, and to be heard again', async () => {
      proxy.loseNotices();
      listen({ heardWithinMs: 500 });
      await until(() => said.length > 0);
      const before = notices;
      // A new connection may have been asked in vain, so it looks; of the notices themselves it hears nothing.
      await until(() => notices > before + 2);
      expect(said).to.deep.equal(['deaf']);
      proxy.mend();
      await until(() => said.length > 1);
      expect(said).to.deep.equal(['deaf', 'again']);
      await hear();
    });

    it('leaves no connection behind, however often it had to listen anew', async () => {
      proxy.stall();
      listen({ tryMs: 20, heardWithinMs: 500 });
      await until(() => said.length > 0);
      proxy.mend();
      await hear();
      await until(async () => {
        const open = await database.run(
          `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`,
        );
        return open.length === 1;
      });
    });
  });
}
