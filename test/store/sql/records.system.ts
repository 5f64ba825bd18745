import { expect } from 'chai';
import { Client } from 'pg';
import { LIST_WINDOW, toListQueries } from '../../../src/store/rows/list-query.ts';
import { POSTGRES } from '../../../src/store/sql/dialect.ts';
import { recordOperations } from '../../../src/store/sql/records.ts';
import { runSteps } from '../../../src/store/postgres/steps.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { toConnection, type Connection } from '../../../src/store/postgres/pool.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { ALL_RECORDS, LIST_PLANS, nameOf } from '../rows/list-plans.ts';

const server = await findPostgres();
const RECORDS = recordOperations(POSTGRES);

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly PlanNode[];
}

if (server !== undefined) {
  describe('the plan by which PostgreSQL', () => {
    let database: TestDatabase;
    let client: Client;
    /** Runs each statement with its plan. */
    let connection: Connection;
    let plans: PlanNode[];

    before(async () => {
      database = await createTestDatabase(server);
      await migrate(database.url);
      // Nearly all of one caller, one model and one end, so that a guess by the average is wrong.
      await database.run(`
        INSERT INTO owners (owner, seen_at) VALUES ('o', now());
        INSERT INTO requests (request_id, caller, owner, endpoint, model, stream, status, created_at_ms, completed_at_ms,
          error_code, estimated_input_tokens)
        SELECT 'req_' || lpad(to_hex(i), 32, '0'), CASE i % 500 WHEN 1 THEN 'other' ELSE 'c' END,
          CASE i % 1000 WHEN 0 THEN 'o' END, 'responses', CASE i % 400 WHEN 2 THEN 'm' ELSE 'usual' END, 0,
          CASE WHEN i % 1000 = 0 THEN 'processing' WHEN i % 300 = 3 THEN 'failed' ELSE 'succeeded' END, i,
          CASE i % 1000 WHEN 0 THEN NULL ELSE i END, CASE WHEN i % 300 = 3 THEN CASE i % 30000 WHEN 3 THEN 'upstream_error' ELSE 'forbidden' END END, 7
        FROM generate_series(1, 200000) AS i;
        ANALYZE requests`);
    });
    after(() => database.drop());
    beforeEach(async () => {
      plans = [];
      client = new Client({ connectionString: database.url });
      await client.connect();
      // As after some uses of a prepared statement: one plan for all values.
      await client.query('SET plan_cache_mode = force_generic_plan');
      const plain = toConnection(client);
      connection = {
        ...plain,
        async rows(statement, values) {
          const { name, text } = statement;
          const explain = { ...statement, name: `explain_${name}`, text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}` };
          const [row] = await plain.rows<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(explain, values);
          plans.push(...(row?.['QUERY PLAN'] ?? []).map(({ Plan }) => Plan));
          return plain.rows(statement, values);
        },
      };
    });
    afterEach(() => client.end());

    for (const { filters, index } of LIST_PLANS) {
      it(`lists ${nameOf(filters)} reads one index alone, and few rows of it`, async () => {
        const { result } = await runSteps(connection, RECORDS.list({ ...ALL_RECORDS, ...filters }));
        expect(result.rows.length).to.be.at.most(21);
        const reads = plans.flatMap(nodesOf).filter(isRead);
        expect(new Set(reads.map((node) => node['Index Name']))).to.deep.equal(
          new Set([index === 'byId' ? 'requests_request_id_key' : index]),
        );
        const visited = reads.map((node) => (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0));
        const isBounded = toListQueries({ ...ALL_RECORDS, ...filters }).floor !== null || index === 'requests_by_owner';
        for (const count of visited) expect(count).to.be.at.most(isBounded ? LIST_WINDOW : ALL_RECORDS.limit);
      });
    }

    it('finds callers goes from one to the next', async () => {
      const find = async (prefix: string) => (await runSteps(connection, RECORDS.findCallers(prefix, 17))).result;
      expect(await find('oth')).to.deep.equal(['other']);
      expect(await find('')).to.deep.equal(['c', 'other']);
      const reads = plans.flatMap(nodesOf).filter(isRead);
      for (const node of reads) expect(node['Index Name']).to.match(/^requests_of_caller/);
      for (const node of reads) expect(node['Actual Rows']).to.be.at.most(1);
    });
  });
}

function nodesOf(plan: PlanNode): readonly PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** A bitmap scan of the table names its index one node below. */
function isRead(node: PlanNode): boolean {
  const type = node['Node Type'];
  return (type.includes('Index') || type === 'Seq Scan') && type !== 'Bitmap Heap Scan';
}
