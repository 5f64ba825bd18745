/**
 * What pages of lists cost among many records of one caller. `MANY_RECORDS=5000000 mocha test/store/many-records.system.ts`
 * prints it for as many as that.
 */
import Sqlite, { type Database } from 'better-sqlite3';
import { expect } from 'chai';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { ListStep } from '../../src/store/rows/list-query.ts';
import { toListQueries } from '../../src/store/rows/list-query.ts';
import { migrate as migratePostgres } from '../../src/store/postgres/migrate.ts';
import { toConnection } from '../../src/store/postgres/pool.ts';
import { runSteps } from '../../src/store/postgres/steps.ts';
import { toNumbered } from '../../src/store/postgres/statements.ts';
import { POSTGRES, SQLITE } from '../../src/store/sql/dialect.ts';
import { recordOperations } from '../../src/store/sql/records.ts';
import { prepareSteps } from '../../src/store/sqlite/steps.ts';
import { migrate, MIGRATIONS } from '../../src/store/sqlite/migrations.ts';
import { cpuTimeMs, cpuTimeOfMs } from '../support/cpu-time.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../support/postgres.ts';
import { ALL_RECORDS, nameOf } from './rows/list-plans.ts';

const RECORDS = Number(process.env['MANY_RECORDS'] ?? 200_000);
/** Several times beyond what they take. What tells a page from a search of all records on PostgreSQL is the pages it touches. */
const CPU_AT_MOST_MS = 60;
const PAGES_AT_MOST = 5000;

const FILTERS: readonly Partial<ListStep>[] = [
  {},
  { status: 'failed' },
  { model: 'rare' },
  { errorCode: 'upstream_timeout' },
  { caller: 'c' },
  { caller: 'c', status: 'processing' },
  { caller: 'c', status: 'succeeded' },
  { caller: 'c', status: 'failed' },
  { caller: 'c', status: 'cancelled' },
  { caller: 'c', model: 'usual' },
  { caller: 'c', model: 'rare' },
  { caller: 'c', model: 'rare', status: 'failed' },
  { caller: 'c', model: 'usual', status: 'failed' },
  { caller: 'c', errorCode: 'upstream_timeout' },
  { caller: 'c', errorCode: 'upstream_error', model: 'rare' },
  { caller: 'other', model: 'usual' },
];

/** Nine of ten are of one caller, one of ten has failed, and few have the rare model or the rare error. */
const COLUMNS = `request_id, caller, endpoint, model, stream, status, created_at_ms, completed_at_ms, estimated_input_tokens,
  error_code`;
const VALUES = `CASE i % 10 WHEN 1 THEN 'other' ELSE 'c' END, 'responses', CASE i % 50000 WHEN 3 THEN 'rare' ELSE 'usual' END, 0,
  CASE i % 10 WHEN 2 THEN 'failed' ELSE 'succeeded' END, i, i, 7,
  CASE WHEN i % 10 = 2 THEN CASE i % 20000 WHEN 2 THEN 'upstream_timeout' ELSE 'upstream_error' END END`;

/** The newest page, one in the middle, the oldest, and a span of time in the middle. */
const PLACES: readonly { readonly name: string; readonly place: Partial<ListStep> }[] = [
  { name: 'newest', place: {} },
  { name: 'middle', place: { before: idOf(RECORDS / 2) } },
  { name: 'oldest', place: { before: idOf(30) } },
  { name: 'span', place: { from: idOf(RECORDS / 2), before: idOf(RECORDS / 2 + RECORDS / 10) } },
];

function idOf(number: number): string {
  return `req_${Math.floor(number).toString(16).padStart(12, '0')}${'0'.repeat(20)}`;
}

const STEPS = FILTERS.flatMap((filters) =>
  PLACES.map(({ name, place }) => ({
    name: `${nameOf(filters)}: ${name}`,
    step: { ...ALL_RECORDS, ...filters, ...place, limit: 101 },
  })),
);

describe(`pages of lists among ${RECORDS} records on SQLite`, () => {
  let folder: string;
  let database: Database;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'many-'));
    database = new Sqlite(join(folder, 'many.db'));
    database.pragma('journal_mode = WAL');
    migrate(database, MIGRATIONS);
    const startedMs = cpuTimeMs();
    database.exec(`
      INSERT INTO requests (${COLUMNS})
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${RECORDS})
      SELECT printf('req_%012x%020x', i, 0), ${VALUES} FROM n`);
    console.log(`\n  ${(((cpuTimeMs() - startedMs) * 1000) / RECORDS).toFixed(1)} µs of CPU to insert one`);
  });
  after(() => {
    database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const { name, step } of STEPS) {
    it(`${name} takes at most ${CPU_AT_MOST_MS} ms of CPU`, () => {
      const run = prepareSteps(database);
      const startedMs = cpuTimeMs();
      const { rows } = run(recordOperations(SQLITE).list(step));
      const tookMs = cpuTimeMs() - startedMs;
      console.log(`  ${tookMs.toFixed(1).padStart(6)} ms, ${String(rows.length).padStart(3)} rows: ${name}`);
      expect(tookMs).to.be.at.most(CPU_AT_MOST_MS);
    });
  }
});

const server = await findPostgres();

if (server !== undefined) {
  describe(`pages of lists among ${RECORDS} records on PostgreSQL`, () => {
    let database: TestDatabase;
    let client: Client;
    let pid: number;

    before(async () => {
      database = await createTestDatabase(server);
      await migratePostgres(database.url);
      const startedMs = performance.now();
      for (let first = 1; first <= RECORDS; first += 500_000) {
        await database.run(`
          INSERT INTO requests (${COLUMNS})
          SELECT 'req_' || lpad(to_hex(i), 12, '0') || repeat('0', 20), ${VALUES}
          FROM generate_series(${first}, ${Math.min(RECORDS, first + 499_999)}) AS i`);
      }
      await database.run('ANALYZE requests');
      const [size] = await database.run(`SELECT pg_total_relation_size('requests')::int8 AS bytes`);
      const bytes = Number((size as { bytes: string }).bytes) / RECORDS;
      const usEach = ((performance.now() - startedMs) * 1000) / RECORDS;
      console.log(`\n  ${bytes.toFixed(0)} bytes for each record, and ${usEach.toFixed(1)} µs to insert one`);
      client = new Client({ connectionString: database.url });
      await client.connect();
      await client.query('SET plan_cache_mode = force_generic_plan');
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      pid = rows[0]?.pid ?? 0;
    });
    after(async () => {
      await client.end();
      await database.drop();
    });

    for (const { name, step } of STEPS) {
      it(`${name} takes at most ${CPU_AT_MOST_MS} ms of CPU of the server, and touches few pages`, async () => {
        const [startedMs, serverStartedMs] = [cpuTimeMs(), cpuTimeOfMs(pid)];
        const { result } = await runSteps(toConnection(client), recordOperations(POSTGRES).list(step));
        const serverMs = (cpuTimeOfMs(pid) ?? 0) - (serverStartedMs ?? 0);
        const ownMs = cpuTimeMs() - startedMs;
        const { rows: query, floor } = toListQueries(step, ' COLLATE "C"');
        let touched = 0;
        for (const { values, ...named } of floor === null ? [query] : [query, floor]) {
          const { text, names = [] } = toNumbered(named);
          const explained = await client.query<{ 'QUERY PLAN': [Explained] }>(
            `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${text}`,
            names.map((each) => values[each]),
          );
          const plan = explained.rows[0]?.['QUERY PLAN'][0];
          touched += (plan?.Plan['Shared Hit Blocks'] ?? 0) + (plan?.Plan['Shared Read Blocks'] ?? 0);
        }
        const took = `${serverMs.toFixed(1).padStart(6)} ms and ${ownMs.toFixed(1)} ms here`;
        console.log(`  ${took}, ${String(result.rows.length).padStart(3)} rows, ${touched} pages: ${name}`);
        expect(serverMs).to.be.at.most(CPU_AT_MOST_MS);
        expect(touched).to.be.at.most(PAGES_AT_MOST);
      });
    }
  });
}

interface Explained {
  readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number };
}
