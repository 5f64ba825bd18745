import { expect } from 'chai';
import { Client } from 'pg';
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { newDraft, newOutcome } from '../../support/records.ts';
import { until } from '../../support/time.ts';

const server = await findPostgres();

/** `PRUNED_RECORDS=300000 mocha …` prints what requests take meanwhile. */
const RECORDS = Number(process.env['PRUNED_RECORDS'] ?? 3000);
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

    /** Returns how long each request took, until this is over. */
    async function askUntil(over: Promise<unknown>): Promise<readonly number[]> {
      const took: number[] = [];
      const ended = over.then(() => true);
      for (;;) {
        const startedAtMs = performance.now();
        const draft = newDraft();
        await store.accept(draft);
        await store.finish(draft.requestId, newOutcome());
        took.push(performance.now() - startedAtMs);
        if (await Promise.race([ended, new Promise<boolean>((resolve) => void setTimeout(resolve, 5, false))]))
          return took;
      }
    }

    it('lets requests go on between its steps', async () => {
      const rest = await askUntil(new Promise((resolve) => void setTimeout(resolve, 500)));
      const startedAtMs = performance.now();
      const pruning = store.prune(RECORDS + 1);
      const took = await askUntil(pruning);
      const seconds = (performance.now() - startedAtMs) / 1000;
      expect(await pruning).to.equal(RECORDS);
      expect(took).to.have.lengthOf.at.least(LEAST_REQUESTS);
      if (process.env['PRUNED_RECORDS'] === undefined) return;
      console.log(`${RECORDS} records in ${seconds.toFixed(1)} s; p50 and p99 of a request in ms:`);
      console.log(`  before ${show(rest)}, meanwhile ${show(took)} of ${took.length}`);
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
  const sorted = took.toSorted((one, other) => one - other);
  return [0.5, 0.99].map((part) => sorted[Math.floor(sorted.length * part)]?.toFixed(1)).join(' and ');
}
