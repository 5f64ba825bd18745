import { expect } from 'chai';
import { UTC } from '../../../src/core/time.ts';
import { createCalendar } from '../../../src/store/calendar.ts';
import { Client } from 'pg';
import { CALLER, newDraft, newOutcome } from '../../support/records.ts';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { ownOperations, recoverSome, takeOwner, type Owner } from '../../../src/store/postgres/owners.ts';
import { runSteps } from '../../../src/store/postgres/steps.ts';
import { openPool, type Connections } from '../../../src/store/postgres/pool.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { until } from '../../support/time.ts';

const server = await findPostgres();

if (server !== undefined) {
  describe('the owner of records on PostgreSQL', () => {
    let database: TestDatabase;
    let connections: Connections;
    let owner: Owner;
    let failures: unknown[];

    before(async () => {
      database = await createTestDatabase(server);
      const store = await openPostgresStore({ url: database.url, poolSize: 2, clock: Date.now, log: console });
      await store.close();
    });
    after(() => database.drop());
    beforeEach(async () => {
      failures = [];
      await database.empty();
      await database.run('DELETE FROM owners');
      connections = openPool({ url: database.url, size: 2, onLost: () => undefined });
      owner = await takeOwner(connections, (error) => failures.push(error), 20);
    });
    afterEach(async () => {
      await owner.release();
      await connections.close();
    });

    async function living(): Promise<readonly unknown[]> {
      const rows = await database.run(
        "SELECT owner FROM owners WHERE seen_at > clock_timestamp() - interval '5 seconds'",
      );
      return rows.map((row) => (row as { owner: string }).owner);
    }

    it('shows again and again that it lives', async () => {
      expect(await living()).to.deep.equal([owner.name]);
      await database.age();
      await until(async () => (await living()).length === 1);
      expect(await living()).to.deep.equal([owner.name]);
    });

    it('takes another name when it finds itself given up', async () => {
      const former = owner.name;
      await database.run('DELETE FROM owners');
      await until(() => owner.name !== former);
      expect(await living()).to.deep.equal([owner.name]);
    });

    it('takes one other name, however many notice it', async () => {
      await owner.release();
      const former = owner.name;
      await database.run('DELETE FROM owners');
      await Promise.all([owner.renew(former), owner.renew(former), owner.renew(former)]);
      await owner.renew(former);
      expect(await living()).to.deep.equal([owner.name]);
    });

    it('is known to be gone once it has released its name', async () => {
      await owner.release();
      expect(await living()).to.deep.equal([]);
    });

    describe('that has been silent for long', () => {
      let dead: string;

      beforeEach(async () => {
        const store = await openPostgresStore({
          url: database.url,
          poolSize: 2,
          clock: Date.now,
          log: console,
        });
        await store.accept(newDraft({ createdAtMs: 5 }));
        dead = String((await living()).find((name) => name !== owner.name));
        await store.close();
      });

      const records = () => database.run('SELECT status, error_code, completed_at_ms::int FROM requests');
      const recover = () => {
        const by = { owner, calendar: createCalendar(UTC) };
        return connections.transaction((connection) => recoverSome(connection, by, [7, []]));
      };
      const silence = (seconds: number) =>
        database.run(
          `UPDATE owners SET seen_at = clock_timestamp() - interval '${seconds} seconds' WHERE owner = '${dead}'`,
        );
      const steadySince = async () => {
        const [row] = await database.run(`SELECT extract(epoch FROM steady_since - clock_timestamp())::float8 AS seconds
          FROM owners WHERE owner = '${owner.name}'`);
        return (row as { seconds: number }).seconds;
      };
      const steady = (seconds: number) =>
        database.run(
          `UPDATE owners SET steady_since = clock_timestamp() - interval '${seconds} seconds' WHERE owner = '${owner.name}'`,
        );

      it('is taken for dead by one that was heard all that time', async () => {
        await silence(16);
        await steady(16);
        expect(await recover()).to.equal(1);
        const closed = { status: 'failed', error_code: 'gateway_interrupted', completed_at_ms: 7 };
        expect(await records()).to.deep.equal([closed]);
      });

      it('is taken for dead though the clock of the database was set back since', async () => {
        await silence(-3600);
        await database.run(`UPDATE owners SET seen_at = clock_timestamp() + interval '1 hour',
          steady_since = clock_timestamp() + interval '1 hour' WHERE owner = '${owner.name}'`);
        // The next beat begins anew.
        await until(async () => (await steadySince()) <= 0);
        await steady(16);
        expect(await recover()).to.equal(1);
      });

      it('is not taken for dead sooner', async () => {
        await silence(10);
        await steady(16);
        expect(await recover()).to.equal(0);
        expect(await records()).to.have.deep.nested.property('[0].status', 'processing');
      });

      it('is not taken for dead where nobody was heard, as after an outage of the database', async () => {
        await silence(3600);
        await steady(10);
        expect(await recover()).to.equal(0);
        expect(await records()).to.have.deep.nested.property('[0].status', 'processing');
      });

      it('is no witness by what it was before', async () => {
        await database.run(`UPDATE owners SET seen_at = clock_timestamp() - interval '20 seconds',
          steady_since = clock_timestamp() - interval '60 seconds'`);
        // The heartbeat that comes next begins anew.
        await until(async () => (await living()).includes(owner.name));
        expect(await recover()).to.equal(0);
        await steady(16);
        expect(await recover()).to.equal(1);
      });

      it('is passed over while another process closes what it has left', async () => {
        await silence(16);
        await steady(16);
        const other = new Client({ connectionString: database.url });
        await other.connect();
        await other.query('BEGIN');
        await other.query(`SELECT FROM owners WHERE owner = $1 FOR UPDATE`, [dead]);
        // Another that waited would be refused by the limit for locks, and so would the whole batch.
        expect(await recover()).to.equal(0);
        await other.end();
        await until(async () => (await recover()) === 1);
      });
    });

    it('closes what has ended here though its end was lost, and nothing that runs', async () => {
      let nowMs = 1_790_000_000_000;
      const store = await openPostgresStore({ url: database.url, poolSize: 2, clock: () => nowMs, log: console });
      const [lost, running] = [newDraft({ createdAtMs: nowMs }), newDraft({ createdAtMs: nowMs })];
      await store.accept(lost);
      await store.accept(running);
      await database.run('CREATE TABLE replica AS SELECT * FROM requests');
      await store.finish(lost.requestId, newOutcome());
      await database.run('DELETE FROM requests');
      await database.run('INSERT INTO requests OVERRIDING SYSTEM VALUE SELECT * FROM replica');
      await database.run('DROP TABLE replica');
      const statuses = () =>
        Promise.all([lost, running].map(async ({ requestId }) => (await store.find(CALLER, requestId))?.status));

      nowMs += 60_000;
      expect(await store.recover()).to.equal(0);
      expect(await statuses()).to.deep.equal(['processing', 'processing']);
      nowMs += 1;
      expect(await store.recover()).to.equal(1);
      expect(await statuses()).to.deep.equal(['failed', 'processing']);
      await store.close();
    });

    it('hears of the other prices that living processes go by', async () => {
      const { comparePrices } = ownOperations(owner);
      const compare = (version: string) =>
        connections.transaction((connection) => runSteps(connection, comparePrices(version)));
      const note = (version: string, silentS: number) =>
        database.run(`INSERT INTO owners (owner, seen_at, prices)
          VALUES ('${version}', clock_timestamp() - interval '${silentS} seconds', '${version}')`);
      expect(await compare('a')).to.deep.equal([]);
      await note('b', 0);
      await note('dead', 60);
      expect(await compare('a')).to.deep.equal(['b']);
      expect(await compare('b')).to.deep.equal([]);
      const noted = await database.run(`SELECT prices FROM owners WHERE owner = '${owner.name}'`);
      expect(noted).to.deep.equal([{ prices: 'b' }]);
    });

    it('says when a heartbeat cannot be written, and goes on', async () => {
      await database.run('ALTER TABLE owners RENAME TO gone');
      await until(() => failures.length > 0);
      await database.run('ALTER TABLE gone RENAME TO owners');
      await database.age();
      await until(async () => (await living()).length === 1);
    });
  });
}
