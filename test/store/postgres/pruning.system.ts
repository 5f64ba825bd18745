import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { Client } from 'pg';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/core/books/store.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { newDraft, newOutcome } from '../../support/records.ts';
import { until } from '../../support/time.ts';

const server = await findPostgres();

/** `PRUNED_RECORDS=300000 mocha …` measures what requests take meanwhile, and prints it. */
const RECORDS = Number(process.env['PRUNED_RECORDS'] ?? 3000);
const IS_MEASURED = 'PRUNED_RECORDS' in process.env;
const CLIENTS = 8;
/** What a request may take beside the pruning, as a multiple of what it takes without: measured, both are alike. */
const MOST_TIMES = 2;
/** Many more than a step deletes. */
const LEAST_REQUESTS = 20;

if (server !== undefined) {
  describe('the store on PostgreSQL that deletes old records', () => {
    let database: TestDatabase;
    let store: Store;
    let closed: Promise<void> | undefined;
    const closeStore = () => (closed ??= store.close());

    beforeEach(async () => {
      closed = undefined;
      database = await createTestDatabase(server);
      const log = { info: () => undefined, warn: () => undefined };
      store = await openPostgresStore({ url: database.url, poolSize: 5, clock: Date.now, log });
      await database.run(`
        INSERT INTO requests (request_id, caller, endpoint, model, stream, status, created_at_ms, completed_at_ms,
          estimated_input_tokens)
        SELECT 'req_' || lpad(i::text, 32, '0'), 'c' || i % 100, 'responses', 'm', 0, 'succeeded', i, i, 7
        FROM generate_series(1, ${RECORDS}) AS i;
        ANALYZE requests`);
    });
    afterEach(async () => {
      await closeStore();
      await database.drop();
    });

    /** Returns how long each request of all clients took, until this is over. */
    async function askUntil(over: Promise<unknown>): Promise<readonly number[]> {
      const took: number[] = [];
      const ended = over.then(() => true);
      const ask = async (): Promise<void> => {
        do {
          const startedAtMs = performance.now();
          const draft = newDraft();
          await store.accept(draft);
          await store.finish(draft.requestId, newOutcome());
          took.push(performance.now() - startedAtMs);
        } while (!(await Promise.race([ended, setTimeout(5, false)])));
      };
      await Promise.all(Array.from({ length: CLIENTS }, ask));
      return took;
    }

    it('lets requests go on between its steps', async () => {
      const before = await askUntil(setTimeout(IS_MEASURED ? 20_000 : 500));
      const startedAtMs = performance.now();
      const pruning = store.prune(RECORDS + 1);
      const meanwhile = await askUntil(pruning);
      const seconds = (performance.now() - startedAtMs) / 1000;
      expect(await pruning).to.equal(RECORDS);
      expect(meanwhile).to.have.lengthOf.at.least(LEAST_REQUESTS);
      if (!IS_MEASURED) return;
      console.log(
        `${RECORDS} records in ${seconds.toFixed(1)} s; p50 and p99 of a request of ${CLIENTS} clients in ms:`,
      );
      console.log(`  before ${show(before)} of ${before.length}, meanwhile ${show(meanwhile)} of ${meanwhile.length}`);
      expect(partOf(meanwhile, 0.99)).to.be.below(MOST_TIMES * partOf(before, 0.99));
    });

    it('reads each of them once while a dump keeps an old snapshot', async () => {
      const dump = new Client({ connectionString: database.url });
      await dump.connect();
      await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM requests LIMIT 1');
      expect(await store.prune(RECORDS + 1)).to.equal(RECORDS);
      await dump.end();
      // A session reports at its end what it has read.
      await closeStore();
      let read = 0;
      await until(async () => {
        const [row] = await database.run(`SELECT sum(idx_tup_read)::int AS read FROM pg_stat_user_indexes
          WHERE relname = 'requests'`);
        ({ read } = row as { read: number });
        return read >= RECORDS;
      });
      // Once by when they ended, and once to delete each of them.
      expect(read).to.be.below(4 * RECORDS);
    });
  });
}

function show(took: readonly number[]): string {
  return [0.5, 0.99].map((part) => partOf(took, part).toFixed(1)).join(' and ');
}

function partOf(took: readonly number[], part: number): number {
  return took.toSorted((one, other) => one - other)[Math.floor(took.length * part)] ?? NaN;
}
