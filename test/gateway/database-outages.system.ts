/** What becomes of requests when their database fails, in each of the ways in which it does, and when it comes back. */
import { expect } from 'chai';
import { Client } from 'pg';
import { createLogger } from '../../src/telemetry/log.ts';
import { callerOf, readError } from '../records/caller.ts';
import { finish, text, usageChunk, KNOWN_USAGE } from '../records/chunks.ts';
import { completion } from '../backend/asking.ts';
import { startScriptedBackend, type ScriptedBackend } from '../support/backend.ts';
import { openGateway, type TestGateway } from '../support/gateway.ts';
import { startOwnPostgres, type OwnPostgres } from '../support/own-postgres.ts';
import { useImpatientStores } from '../support/patient.ts';
import { isPostgresInstalled } from '../support/postgres-server.ts';
import { useRealSockets } from '../support/real-sockets.ts';
import { startStallingProxy, type StallingProxy } from '../support/stalling-proxy.ts';
import { until, untilRead } from '../support/time.ts';
import { expectWellFormed, parseEvents } from '../support/well-formed.ts';

const POOL_SIZE = 5;

const isInstalled = isPostgresInstalled();
if (!isInstalled) console.log('  not run, since PostgreSQL is not installed: its restarts, crashes and replicas');

if (isInstalled) {
  describe('a gateway whose PostgreSQL', () => {
    useRealSockets();
    useImpatientStores();
    let server: OwnPostgres;
    let proxy: StallingProxy;
    let backend: ScriptedBackend;
    let gateway: TestGateway;
    let lines: string;
    let others: Client[];
    /** Takes the cause away, where a test has not come to it. */
    let takeAway: (() => Promise<unknown>) | undefined;

    before(async () => {
      server = await startOwnPostgres();
    });
    after(() => server.close());
    beforeEach(async () => {
      backend = await startScriptedBackend();
      proxy = await startStallingProxy({ host: '127.0.0.1', port: Number(new URL(server.url).port) });
      lines = '';
      others = [];
      gateway = await open(urlByProxy());
    });
    afterEach(async () => {
      await takeAway?.();
      takeAway = undefined;
      await endOthers();
      proxy.mend();
      await gateway.close();
      await proxy.close();
      await backend.close();
    });

    function urlByProxy(): string {
      const url = new URL(server.url);
      url.port = String(proxy.port);
      return url.href;
    }

    function open(databaseUrl: string): Promise<TestGateway> {
      const settings = {
        DATABASE_URL: databaseUrl,
        GATEWAY_SECRET: 'a secret of a gateway in a test',
        UPSTREAM_BASE_URL: backend.baseUrl,
      };
      const log = createLogger('info', { write: (line: string) => void (lines += line) });
      return openGateway(settings, { log });
    }

    /**
     * Ends all sessions that have begun by now. Those which are still being let in are seen by nobody, and would go on under
     * the rules that held before: their connections are cut.
     */
    async function endSessions(): Promise<void> {
      await server.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'gateway'`);
      proxy.cut();
      proxy.mend();
    }

    async function connectOther(): Promise<Client> {
      const client = new Client({ connectionString: server.url });
      client.on('error', () => undefined);
      await client.connect();
      others.push(client);
      return client;
    }

    async function endOthers(): Promise<void> {
      await Promise.all(others.map((client) => client.end()));
      others = [];
    }

    /** Run in the database of the gateway, by its owner. */
    async function runAsOwner(sql: string): Promise<void> {
      await (await connectOther()).query(`SET default_transaction_read_only = off; ${sql}`);
      await endOthers();
    }

    const outages: readonly { what: string; fail: () => Promise<unknown>; mend: () => Promise<unknown> }[] = [
      {
        what: 'is stopped and started again',
        fail: () => server.stop('fast'),
        mend: () => server.start(),
      },
      {
        what: 'crashes and is started again',
        fail: () => server.stop('immediate'),
        mend: () => server.start(),
      },
      {
        what: 'cannot be reached',
        fail: async () => proxy.cut(),
        mend: async () => proxy.mend(),
      },
      {
        what: 'gives no answer',
        fail: async () => proxy.stall(),
        mend: async () => proxy.mend(),
      },
      {
        what: 'has given all its connections to others',
        async fail() {
          // The gateway is kept out meanwhile. A session of its own that is still being let in or ended has one of them.
          proxy.cut();
          await until(async () => {
            await connectOther().catch(() => undefined);
            return others.length === server.connections;
          });
          proxy.mend();
        },
        mend: endOthers,
      },
      {
        what: 'has its tables locked by somebody else',
        fail: async () => (await connectOther()).query('BEGIN; LOCK TABLE requests IN ACCESS EXCLUSIVE MODE'),
        mend: endOthers,
      },
      {
        what: 'has a full disk',
        fail: () =>
          runAsOwner(`
            CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              RAISE EXCEPTION 'could not extend file "base/1/2": No space left on device' USING ERRCODE = 'disk_full';
            END $$;
            CREATE TRIGGER fill BEFORE INSERT OR UPDATE ON requests FOR EACH ROW EXECUTE FUNCTION fill();
            CREATE TRIGGER fill BEFORE INSERT ON write_probes FOR EACH ROW EXECUTE FUNCTION fill()`),
        mend: () => runAsOwner('DROP FUNCTION fill CASCADE'),
      },
      {
        what: 'became read-only',
        async fail() {
          await server.sql('ALTER DATABASE gateway SET default_transaction_read_only = on');
          await endSessions();
        },
        async mend() {
          await server.sql('ALTER DATABASE gateway SET default_transaction_read_only = off');
          await endSessions();
        },
      },
      {
        what: 'became a replica',
        async fail() {
          await server.becomeStandby();
          await server.stop('fast');
          await server.start();
        },
        async mend() {
          await server.becomePrimary();
          await server.stop('fast');
          await server.start();
        },
      },
      {
        what: 'got another password',
        async fail() {
          await server.sql(`ALTER ROLE gateway PASSWORD 'another'`);
          await endSessions();
        },
        mend: () => server.sql(`ALTER ROLE gateway PASSWORD 'canary'`),
      },
      {
        what: 'has no such database any more',
        async fail() {
          await server.sql('ALTER DATABASE gateway ALLOW_CONNECTIONS false');
          await endSessions();
          await until(() =>
            server.sql('ALTER DATABASE gateway RENAME TO gone').then(
              () => true,
              () => false,
            ),
          );
        },
        async mend() {
          await server.sql('ALTER DATABASE gone RENAME TO gateway');
          await server.sql('ALTER DATABASE gateway ALLOW_CONNECTIONS true');
        },
      },
      {
        what: 'has lost its tables',
        fail: () => runAsOwner('ALTER TABLE requests RENAME TO gone; ALTER TABLE owners RENAME TO gone_too'),
        mend: () => runAsOwner('ALTER TABLE gone RENAME TO requests; ALTER TABLE gone_too RENAME TO owners'),
      },
    ];

    for (const { what, fail, mend } of outages) {
      it(`${what} refuses what is new before the backend is called, and loses nothing of what runs`, async () => {
        const letGo = Promise.withResolvers<void>();
        backend.always(async ({ start, sse, end }) => {
          start();
          await sse(text('Hello'));
          await letGo.promise;
          await sse(finish('stop'), usageChunk, '[DONE]');
          end();
        });
        const caller = callerOf(gateway.url);
        let running = Response.error();
        // A busy machine may take longer for it than a caller is let wait.
        await until(async () => {
          running = await caller.create({ model: 'm', input: 'Hi', stream: true });
          return running.status === 200;
        });
        takeAway = mend;
        await fail();

        for (const stream of [true, false]) {
          const headers = { 'idempotency-key': `key ${stream}` };
          const refused = await caller.create({ model: 'm', input: 'Hi', stream }, { headers });
          expect(refused.status).to.equal(503);
          const { code, message } = await readError(refused);
          expect({ code, message }).to.deep.equal({
            code: 'store_unavailable',
            message: 'The request store is not available. See /docs/troubleshooting#503-store_unavailable.',
          });
        }
        expect(backend.requests, 'calls to the backend').to.have.lengthOf(1);
        expect((await gateway.get('/readyz')).status).to.equal(503);
        expect((await gateway.get('/healthz')).status).to.equal(200);

        letGo.resolve();
        const events = parseEvents(await running.text());
        expect(expectWellFormed(events).output_text).to.equal('Hello');

        takeAway = undefined;
        await mend();
        await until(async () => (await gateway.get('/readyz')).status === 200);
        const requestId = running.headers.get('x-request-id') ?? '';
        let record: Awaited<ReturnType<typeof caller.record>> | undefined;
        await untilRead(async () => {
          record = await caller.record(requestId).catch(() => undefined);
          return record !== undefined && record.status !== 'processing';
        });
        expect(record).to.deep.include({ status: 'succeeded', usage: KNOWN_USAGE, usage_estimated: false });
        await until(async () => {
          const reply = await caller.create({ model: 'm', input: 'Hi' });
          await reply.text();
          return reply.status === 200;
        });

        const sessions = await server.sql(`SELECT 1 FROM pg_stat_activity WHERE datname = 'gateway'`);
        // One more than the pool to hear of cancels.
        expect(sessions).to.have.lengthOf.at.most(POOL_SIZE + 1);
        expect(lines).to.contain('the store cannot be written').and.not.to.contain('canary');
      });
    }

    it('is a replica after a fail-over that only new connections follow answers every request by the new primary', async () => {
      backend.always({ json: completion('Hello') });
      const standby = await server.startStandby();
      takeAway = async () => {
        await server.sql('ALTER SYSTEM RESET default_transaction_read_only');
        await server.sql('SELECT pg_reload_conf()');
        await standby.close();
      };
      const caller = callerOf(gateway.url);
      const ask = async () => {
        const reply = await caller.create({ model: 'm', input: 'Hi' });
        await reply.text();
        return reply.status;
      };
      const askAtOnce = () => Promise.all(Array.from({ length: 2 * POOL_SIZE }, ask));
      expect(new Set(await askAtOnce())).to.deep.equal(new Set([200]));
      await server.sql('ALTER SYSTEM SET default_transaction_read_only = on');
      await server.sql('SELECT pg_reload_conf()');
      await standby.promote();
      proxy.leadTo(standby.port);

      for (let round = 0; round < 20; round += 1)
        expect(new Set(await askAtOnce()), `round ${round}`).to.deep.equal(new Set([200]));
    });

    it('dies in front of a synchronous standby, which is promoted, loses no answer and runs none again', async () => {
      backend.always({ json: completion('Hello') });
      const standby = await server.startStandby();
      takeAway = async () => {
        await server.start();
        await server.sql('ALTER SYSTEM RESET synchronous_standby_names');
        await server.sql('SELECT pg_reload_conf()');
        await standby.close();
      };
      await server.sql(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
      await server.sql('SELECT pg_reload_conf()');
      await until(
        async () => (await server.sql(`SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)).length > 0,
      );
      const caller = callerOf(gateway.url);
      const create = (name: number) =>
        caller.create({ model: 'm', input: 'Hi' }, { headers: { 'idempotency-key': String(name) } });
      const answered: number[] = [];
      let asked = 0;
      const over = new AbortController();
      const customers = Array.from({ length: 8 }, async () => {
        while (!over.signal.aborted) {
          const name = (asked += 1);
          const reply = await create(name);
          await reply.text();
          if (reply.status === 200) answered.push(name);
        }
      });
      await until(() => answered.length > 100);
      await server.stop('immediate');
      await standby.promote();
      proxy.cut();
      proxy.mend();
      proxy.leadTo(standby.port);
      const before = answered.length;
      await until(() => answered.length > before + 100);
      over.abort();
      await Promise.all(customers);

      const calls = backend.requests.length;
      for (const name of answered) {
        const again = await create(name);
        expect([again.status, ((await again.json()) as { status?: string }).status]).to.deep.equal([409, 'succeeded']);
      }
      expect(backend.requests).to.have.lengthOf(calls);
    });

    it('dies in front of a standby that has fallen behind loses what that lacks, which runs again when it is repeated', async () => {
      backend.always({ json: completion('Hello') });
      const standby = await server.startStandby();
      takeAway = async () => {
        await server.start();
        await standby.close();
      };
      const caller = callerOf(gateway.url);
      const create = async (name: string): Promise<number> => {
        const reply = await caller.create({ model: 'm', input: 'Hi' }, { headers: { 'idempotency-key': name } });
        await reply.text();
        return reply.status;
      };
      expect(await create('known')).to.equal(200);
      await standby.fallBehind();
      expect(await create('lacking')).to.equal(200);
      await server.stop('immediate');
      await standby.promote();
      proxy.cut();
      proxy.mend();
      proxy.leadTo(standby.port);
      await until(async () => (await create('known')) === 409);
      expect([await create('lacking'), await create('lacking')]).to.deep.equal([200, 409]);
      expect(backend.requests).to.have.lengthOf(3);
    });

    it('is a replica from the beginning says so, in one line', async () => {
      await server.becomeStandby();
      await server.stop('fast');
      await server.start();
      const refused = await open(server.url).catch(String);
      await server.becomePrimary();
      await server.stop('fast');
      await server.start();
      expect(refused).to.match(
        /^StoreOpenError: The database postgres:\S+ is a read-only replica\b[^\n]+primary[^\n]+$/,
      );
    });
  });
}
