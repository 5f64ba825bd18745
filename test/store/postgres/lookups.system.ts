import { expect } from 'chai';
import { Client } from 'pg';
import { LOOKUPS } from '../../../src/store/postgres/lookups.ts';
import { migrate } from '../../../src/store/postgres/migrations.ts';
import { toConnection, type Connection } from '../../../src/store/postgres/pool.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';

const server = await findPostgres();

if (server !== undefined) {
  describe('the plan by which PostgreSQL', () => {
    let database: TestDatabase;
    let client: Client;
    /** Runs each statement with its plan. */
    let connection: Connection;
    let plan: string;

    before(async () => {
      database = await createTestDatabase(server);
      await migrate(database.url);
      await database.run(`
        INSERT INTO owners (owner, seen_at) VALUES ('o', now());
        INSERT INTO requests (request_id, caller, owner, endpoint, model, stream, status, created_at_ms, completed_at_ms,
          estimated_input_tokens)
        SELECT 'req_' || i, 'caller', CASE i % 1000 WHEN 0 THEN 'o' END, 'responses', 'model', 0,
          CASE i % 1000 WHEN 0 THEN 'processing' ELSE 'succeeded' END, i, CASE i % 1000 WHEN 0 THEN NULL ELSE i END, 7
        FROM generate_series(1, 20000) AS i;
        ANALYZE requests`);
    });
    after(() => database.drop());
    beforeEach(async () => {
      plan = '';
      client = new Client({ connectionString: database.url });
      await client.connect();
      // As after some uses of a prepared statement: one plan for all values.
      await client.query('SET plan_cache_mode = force_generic_plan');
      const plain = toConnection(client);
      connection = {
        ...plain,
        async rows({ name, text }, values) {
          const lines = await plain.rows({ name: `explain_${name}`, text: `EXPLAIN ${text}` }, values);
          plan += lines.flatMap((line) => Object.values(line)).join('\n');
          return plain.rows({ name, text }, values);
        },
      };
    });
    afterEach(() => client.end());

    it('lists the unfinished records of a caller looks at unfinished records alone', async () => {
      const step = { beforeSeq: 1_000_000, status: 'processing', limit: 21 } as const;
      const { rows } = await LOOKUPS.list(connection, { ...step, caller: 'caller', model: 'model' });
      expect(rows).to.have.lengthOf(20);
      expect(plan)
        .to.match(/using requests_by_owner/)
        .and.not.to.match(/requests_by_caller|requests_pkey|Seq Scan/);
    });

    it('lists those of all callers looks at unfinished records alone', async () => {
      const step = { beforeSeq: 1_000_000, status: 'processing', limit: 21 } as const;
      const { rows } = await LOOKUPS.listAll(connection, { ...step, callerPrefix: 'call', model: null });
      expect(rows).to.have.lengthOf(20);
      expect(plan)
        .to.match(/using requests_by_owner/)
        .and.not.to.match(/requests_by_caller|requests_pkey|Seq Scan/);
    });
  });
}
