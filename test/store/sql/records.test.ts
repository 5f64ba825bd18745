import { expect } from 'chai';
import Sqlite, { type Database } from 'better-sqlite3';
import { toListQueries } from '../../../src/store/rows/list-query.ts';
import { SQLITE } from '../../../src/store/sql/dialect.ts';
import { recordOperations } from '../../../src/store/sql/records.ts';
import { prepareSteps } from '../../../src/store/sqlite/steps.ts';
import { migrate, MIGRATIONS } from '../../../src/store/sqlite/migrations.ts';
import { ALL_RECORDS, LIST_PLANS, nameOf } from '../rows/list-plans.ts';

const RECORDS = recordOperations(SQLITE);

describe('the plan by which SQLite', () => {
  let database: Database;
  /** With their values, as they were run. */
  let statements: string[];

  beforeEach(() => {
    statements = [];
    database = new Sqlite(':memory:', { verbose: (sql) => statements.push(String(sql)) });
    migrate(database, MIGRATIONS);
    statements = [];
  });
  afterEach(() => database.close());

  function planOf(sql: string): readonly string[] {
    const explain = database.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
    return explain.all().map(({ detail }) => detail);
  }

  for (const { filters, index } of LIST_PLANS) {
    it(`lists ${nameOf(filters)} reads one index alone, in its order`, () => {
      const step = { ...ALL_RECORDS, ...filters };
      prepareSteps(database)(RECORDS.list(step));
      const { floor } = toListQueries(step);
      const ran = [...statements];
      expect(ran).to.have.lengthOf(floor === null ? 1 : 2);
      const name = index === 'byId' ? 'sqlite_autoindex_requests_1' : index;
      for (const sql of ran) {
        const [searches, others] = split(planOf(sql));
        expect(searches).to.have.lengthOf(1);
        expect(searches[0]).to.match(new RegExp(`^SEARCH requests USING (COVERING )?INDEX ${name} \\(`));
        // The rows of a window are put in order once more, which the index had found in order.
        const isWindow = others.some((line) => line.startsWith('MATERIALIZE'));
        if (!isWindow) expect(others).to.deep.equal([]);
      }
    });
  }

  it('finds callers goes from one to the next', () => {
    prepareSteps(database)(RECORDS.findCallers('c', 17));
    const lines = [...statements].flatMap(planOf).filter((line) => line.includes('requests'));
    expect(lines).to.have.lengthOf(2);
    for (const line of lines) expect(line).to.match(/^SEARCH requests USING COVERING INDEX requests_of_caller/);
  });
});

function split(lines: readonly string[]): readonly [searches: readonly string[], others: readonly string[]] {
  const isSearch = (line: string) => line.includes('requests');
  return [lines.filter(isSearch), lines.filter((line) => !isSearch(line))];
}
