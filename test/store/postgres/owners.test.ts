import { expect } from 'chai';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { takeOwner, type Owner } from '../../../src/store/postgres/owners.ts';
import { openPool, type Connections } from '../../../src/store/postgres/pool.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { until } from '../../support/sqlite.ts';

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

    it('says when a heartbeat cannot be written, and goes on', async () => {
      await database.run('ALTER TABLE owners RENAME TO gone');
      await until(() => failures.length > 0);
      await database.run('ALTER TABLE gone RENAME TO owners');
      await database.age();
      await until(async () => (await living()).length === 1);
    });
  });
}
