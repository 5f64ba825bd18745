import { expect } from 'chai';
import { Client } from 'pg';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { MIGRATIONS } from '../../../src/store/postgres/migrations.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { newRequestId } from '../../support/records.ts';
import { until } from '../../support/time.ts';

const server = await findPostgres();
const newest = MIGRATIONS.at(-1)?.name ?? '';

/** Steps as a later version may have them. */
const INDEX = { name: '9998_index', runsBeside: newest, indexes: ['requests_of_a_model ON requests (model)'], sql: '' };
const COLUMN = { name: '9999_column', runsBeside: newest, sql: 'ALTER TABLE requests ADD COLUMN region text' };

if (server !== undefined) {
  describe('the migration of a PostgreSQL database that is in use', () => {
    let database: TestDatabase;
    /** Of somebody who has not ended a transaction. */
    let holder: Client;

    beforeEach(async () => {
      database = await createTestDatabase(server);
      await migrate(database.url);
      holder = new Client({ connectionString: database.url });
      await holder.connect();
      await holder.query('BEGIN');
    });
    afterEach(async () => {
      await holder.end();
      await database.drop();
    });

    const migrateTo = (...steps: (typeof INDEX | typeof COLUMN)[]) =>
      migrate(database.url, { migrations: [...MIGRATIONS, ...steps] });

    /** Fails instead of waiting for the end of the transaction. */
    function write(): Promise<unknown> {
      return database.run(`SET lock_timeout = '30s'; ${toInsert()}`);
    }

    function waitUntilItWaits(statement: string): Promise<void> {
      return until(async () => {
        const waiting = await database.run(`SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND query LIKE '${statement}%' AND wait_event_type = 'Lock'`);
        return waiting.length > 0;
      });
    }

    async function isValid(): Promise<unknown> {
      const rows = await database.run(`SELECT indisvalid::text AS valid FROM pg_index
        WHERE indexrelid = to_regclass('requests_of_a_model')`);
      return (rows[0] as { valid: string } | undefined)?.valid;
    }

    it('makes an index while others write', async () => {
      await holder.query(toInsert());
      const migrated = migrateTo(INDEX);
      await waitUntilItWaits('CREATE INDEX');
      await write();
      await holder.query('COMMIT');
      expect((await migrated).applied).to.deep.equal([INDEX.name]);
      expect(await isValid()).to.equal('true');
    });

    it('makes an index anew that a process left when it died', async () => {
      await holder.query(toInsert());
      const died = migrateTo(INDEX).catch((error: unknown) => error);
      await waitUntilItWaits('CREATE INDEX');
      await database.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'CREATE INDEX%'`);
      expect(await died).to.be.an('error');
      expect(await isValid()).to.equal('false');
      await holder.query('COMMIT');
      expect((await migrateTo(INDEX)).applied).to.deep.equal([INDEX.name]);
      expect(await isValid()).to.equal('true');
    });

    it('lets others write while a change of a table waits for a dump', async () => {
      await holder.query('SELECT FROM requests');
      const migrated = migrateTo(COLUMN);
      await waitUntilItWaits('ALTER TABLE');
      await write();
      await holder.query('COMMIT');
      expect((await migrated).applied).to.deep.equal([COLUMN.name]);
    });

    it('is done once by two that begin together, one of which waits without holding up the index', async () => {
      await holder.query(toInsert());
      const both = [migrateTo(INDEX), migrateTo(INDEX)];
      await waitUntilItWaits('CREATE INDEX');
      await holder.query('COMMIT');
      const applied = (await Promise.all(both)).map(({ applied }) => applied.length);
      expect(applied).to.have.members([0, 1]);
      expect(await isValid()).to.equal('true');
    });
  });
}

function toInsert(): string {
  return `INSERT INTO requests
    (request_id, caller, endpoint, model, stream, status, created_at_ms, completed_at_ms, estimated_input_tokens)
    VALUES ('${newRequestId()}', 'c', 'responses', 'm', 0, 'succeeded', 1, 1, 1)`;
}
