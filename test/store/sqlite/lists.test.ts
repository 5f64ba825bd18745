import { expect } from 'chai';
import Sqlite, { type Database } from 'better-sqlite3';
import { prepareLists } from '../../../src/store/sqlite/lists.ts';
import { prepareOperator } from '../../../src/store/sqlite/operator.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

describe('the plan by which SQLite', () => {
  let shop: Workshop;
  let database: Database;
  /** With their values, as they were run. */
  let statements: string[];

  beforeEach(async () => {
    statements = [];
    shop = makeWorkshop();
    await shop.open();
    database = new Sqlite(shop.file, { verbose: (sql) => statements.push(String(sql)) });
  });
  afterEach(async () => {
    database.close();
    await shop.clear();
  });

  const step = { beforeSeq: 1_000_000, status: 'processing', model: 'model', limit: 21 } as const;
  const lists: readonly { name: string; run: () => unknown }[] = [
    {
      name: 'lists the unfinished records of a caller',
      run: () => prepareLists(database).list({ ...step, caller: 'caller' }),
    },
    {
      name: 'lists those of all callers',
      run: () => prepareOperator(database).listAll({ ...step, callerPrefix: 'caller' }),
    },
  ];
  for (const { name, run } of lists) {
    it(`${name} looks at unfinished records alone`, () => {
      run();
      const plan = statements
        .flatMap((sql) => database.prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all())
        .map(({ detail }) => detail);
      expect(plan).to.deep.equal([
        'SEARCH requests USING INDEX requests_by_owner (owner>?)',
        'USE TEMP B-TREE FOR ORDER BY',
      ]);
    });
  }
});
