import { lookup as lookUpAddress } from 'node:dns';
import { expect } from 'chai';
import { PassingError, UnknownOutcome } from '../../../src/store/postgres/failures.ts';
import { openPool, type Connection, type Connections } from '../../../src/store/postgres/pool.ts';
import { standStill, useHeldTime } from '../../support/held-time.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { until } from '../../support/time.ts';
import { startStallingProxy, type StallingProxy } from '../../support/stalling-proxy.ts';

const server = await findPostgres();

const SLEEP = { name: 'sleep', text: 'SELECT pg_sleep(60)' };
const INSERT = { name: 'insert', text: 'INSERT INTO things (thing) VALUES ($1)' };
const PID = { name: 'pid', text: 'SELECT pg_backend_pid() AS pid' };

if (server !== undefined) {
  describe('the connections to PostgreSQL', () => {
    let database: TestDatabase;
    let proxy: StallingProxy;
    let connections: Connections;
    let isClosed: boolean;

    before(async () => {
      database = await createTestDatabase(server);
      await database.run('CREATE TABLE things (thing text PRIMARY KEY)');
    });
    after(() => database.drop());
    beforeEach(async () => {
      isClosed = false;
      const { hostname, port } = new URL(server);
      proxy = await startStallingProxy({ host: hostname, port: Number(port === '' ? '5432' : port) });
      const url = new URL(database.url);
      url.host = `127.0.0.1:${proxy.port}`;
      connections = openPool({ url: url.href, size: 1, onLost: () => undefined });
      await database.run('DELETE FROM things');
    });
    afterEach(async () => {
      if (!isClosed) await connections.close();
      await proxy.close();
    });

    it('finds the server with the function that it is given', async () => {
      const url = new URL(database.url);
      const asked: string[] = [];
      const { hostname } = url;
      url.hostname = 'database.test';
      const other = openPool({
        url: url.href,
        size: 1,
        onLost: () => undefined,
        lookup(name, options, done) {
          asked.push(name);
          lookUpAddress(hostname === '' ? '127.0.0.1' : hostname, options, done);
        },
      });
      expect(await other.lookUp((connection) => connection.rows(PID))).to.have.lengthOf(1);
      expect(asked).to.deep.equal(['database.test']);
      await other.close();
    });

    async function things(): Promise<readonly unknown[]> {
      return (await database.run('SELECT thing FROM things ORDER BY thing')).map(
        (row) => (row as { thing: string }).thing,
      );
    }

    const pid = () => connections.lookUp(async (connection) => (await connection.rows<{ pid: number }>(PID))[0]?.pid);

    function add(...names: readonly string[]): Promise<null> {
      return connections.transaction(async (connection) => {
        await connection.changes(INSERT, [names[0]]);
        return { result: null, last: names.slice(1).map((name) => connection.changes(INSERT, [name])) };
      });
    }

    async function failure(call: Promise<unknown>): Promise<unknown> {
      return call.then(
        () => undefined,
        (error: unknown) => error,
      );
    }

    /** Ends the session which sleeps, as soon as one does. */
    async function endSleep(): Promise<void> {
      await until(async () => {
        const ended = await database.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND query = '${SLEEP.text}' AND state = 'active'`);
        return ended.length > 0;
      });
    }

    it('are used again, also after an answer which is an error', async () => {
      const first = await pid();
      await add('one');
      expect(await failure(add('one'))).to.have.property('code', '23505');
      expect(await failure(add('two', 'one'))).to.have.property('code', '23505');
      expect(await failure(connections.write((each) => each.changes(INSERT, ['one'])))).to.have.property(
        'code',
        '23505',
      );
      expect(await pid()).to.equal(first);
      expect(await things()).to.deep.equal(['one']);
    });

    it('are used again after a refusal of our own, of which nothing is left', async () => {
      const first = await pid();
      const refuse = async (connection: Connection): Promise<never> => {
        await connection.changes(INSERT, ['one']);
        throw new PassingError('changed meanwhile');
      };
      expect(await failure(connections.transaction(refuse))).to.be.instanceOf(PassingError);
      await add('two');
      expect(await pid()).to.equal(first);
      expect(await things()).to.deep.equal(['two']);
    });

    it('are given up after a mistake of ours in the middle of a transaction, with all that it had written', async () => {
      const first = await pid();
      const stumble = async (connection: Connection): Promise<never> => {
        await connection.changes(INSERT, ['one']);
        throw new Error('on purpose');
      };
      await failure(connections.transaction(stumble));
      await add('two');
      expect(await pid()).not.to.equal(first);
      expect(await things()).to.deep.equal(['two']);
    });

    it('tell a mistake of ours from a lost connection', async () => {
      const stumble = () => Promise.reject(new TypeError('on purpose'));
      expect(await failure(connections.transaction(stumble))).to.be.instanceOf(TypeError);
      expect(await failure(connections.lookUp(stumble))).to.be.instanceOf(TypeError);
      expect(await failure(connections.write(stumble))).to.be.instanceOf(TypeError);
    });

    it('let a lookup be tried again which lost its own', async () => {
      const looking = failure(connections.lookUp((connection) => connection.rows(SLEEP)));
      await endSleep();
      expect(await looking).to.be.instanceOf(PassingError);
      expect(await pid()).to.be.a('number');
    });

    it('let a transaction be tried again which lost its own before the commit', async () => {
      const changing = connections.transaction(async (connection) => {
        await connection.changes(INSERT, ['one']);
        return { result: await connection.rows(SLEEP) };
      });
      const failed = failure(changing);
      await endSleep();
      expect(await failed).to.be.instanceOf(PassingError);
      expect(await things()).to.deep.equal([]);
    });

    it('do not know what became of a single statement that lost its own', async () => {
      const writing = failure(connections.write((connection) => connection.changes(SLEEP)));
      await endSleep();
      expect(await writing).to.be.instanceOf(UnknownOutcome);
    });

    it('do not know what became of a transaction whose commit was not answered', async () => {
      await pid();
      // Of the statement, not of the name of a level of isolation.
      proxy.loseAnswersFrom('COMMIT\0');
      const changing = failure(add('one', 'two'));
      await until(async () => (await things()).length === 2);
      proxy.mend();
      expect(await changing).to.be.instanceOf(UnknownOutcome);
      expect(await things()).to.deep.equal(['one', 'two']);
    });

    it('say what a statement has failed by that was sent with the commit, which is none then', async () => {
      await add('one');
      expect(await failure(add('two', 'one', 'three'))).to.have.property('code', '23505');
      expect(await things()).to.deep.equal(['one']);
    });

    it('are no more than a busy pool may have, and none is left when it is closed', async () => {
      await Promise.all(Array.from({ length: 30 }, (_, index) => add(`thing ${index}`)));
      expect(proxy.connections).to.equal(1);
      await connections.close();
      isClosed = true;
      await until(async () => {
        const sessions = await database.run(`SELECT 1 FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'responses-gateway'`);
        return sessions.length === 0;
      });
    });

    describe('when time passes', () => {
      const pass = useHeldTime();
      const LONG_MS = 10_000;

      const write = () => connections.write((connection) => connection.changes(INSERT, ['one']));

      it('read the answer that arrived while the process stood still', async () => {
        await pid();
        proxy.holdAnswersFrom(INSERT.text);
        const writing = write();
        await until(() => proxy.held > 0);
        proxy.release();
        await standStill(LONG_MS);
        expect(await writing).to.equal(1);
      });

      it('are made again if the process stood still meanwhile', async () => {
        proxy.holdAnswersFrom('responses-gateway');
        const writing = write();
        await until(() => proxy.held > 0);
        proxy.release();
        await standStill(LONG_MS);
        expect(await writing).to.equal(1);
        expect(proxy.connections).to.equal(2);
      });

      it('are given up when the server is silent', async () => {
        await pid();
        proxy.loseAnswers();
        const writing = failure(write());
        await until(async () => (await things()).length > 0);
        await pass(LONG_MS);
        expect(await writing).to.be.instanceOf(UnknownOutcome);
      });
    });
  });
}
