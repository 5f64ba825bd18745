import { expect } from 'chai';
import { openStore } from '../../../src/store/open.ts';
import { checkServer } from '../../../src/store/postgres/check.ts';
import { newKeyDraft } from '../../support/keys.ts';
import { newDraft } from '../../support/records.ts';
import { killInTheMiddle, startStoreProcess } from '../../support/other-process.ts';
import { createTestDatabase, findPostgres, type TestDatabase } from '../../support/postgres.ts';
import { until } from '../../support/time.ts';

/** A short form by default; `KILL_ROUNDS=200 mocha --timeout 0` for the long one. */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 3);

const server = await findPostgres();

if (server !== undefined) {
  describe('a process that is killed while it accepts and finishes requests on PostgreSQL', () => {
    let database: TestDatabase;

    beforeEach(async () => {
      database = await createTestDatabase(server);
    });
    afterEach(() => database.drop());

    it(`loses nothing it acknowledged, and each hold is settled once, ${ROUNDS} times`, async () => {
      const databaseUrl = database.url;
      const { keyId } = newKeyDraft();
      const first = await openStore({ databaseUrl, recordRetentionDays: 30 });
      await first.createKey(newKeyDraft({ keyId, creditsMicro: 1e12 }));
      await first.close();
      for (let round = 0; round < ROUNDS; round += 1) {
        const hold = { keyId, heldMicro: 1000, interruptedCostMicro: 7, tokens: 0 };
        const others = await Promise.all(
          [1, 2].map(() => startStoreProcess({ databaseUrl, churn: 8, hold, costMicro: 300 })),
        );
        await Promise.all(others.map(killInTheMiddle));
        await database.age();
        const store = await openStore({ databaseUrl, recordRetentionDays: 30 });
        // What the server still does for a process that is gone holds the row of its owner for a moment.
        await until(async () => {
          await store.recover();
          return ![...(await readStatuses()).values()].includes('processing');
        });
        const key = await store.findKey(keyId);
        await store.close();
        const statuses = await readStatuses();
        for (const line of others.flatMap(({ lines }) => lines)) {
          const [said, requestId = ''] = line.split(' ');
          if (said === 'accepted') expect(statuses.get(requestId), line).to.be.oneOf(['succeeded', 'failed']);
          if (said === 'finished') expect(statuses.get(requestId), line).to.equal('succeeded');
        }
        const count = (status: string) => [...statuses.values()].filter((each) => each === status).length;
        expect(count('succeeded'), 'some have ended').to.be.above(0);
        expect(count('processing')).to.equal(0);
        expect(key).to.include({
          heldMicro: 0,
          balanceMicro: 1e12 - count('succeeded') * 300 - count('failed') * 7,
        });
        expect((await checkServer(databaseUrl)).problems).to.deep.equal([]);
      }
    });

    it('is noticed by another, which closes what it has left', async () => {
      const databaseUrl = database.url;
      const store = await openStore({ databaseUrl, recordRetentionDays: 30 });
      const other = await startStoreProcess({ databaseUrl, drafts: [newDraft()] });
      await other.kill();
      const killedAtMs = performance.now();
      await until(async () => ![...(await readStatuses()).values()].includes('processing'));
      const tookMs = performance.now() - killedAtMs;
      await store.close();
      console.log(`  what a killed process left was closed after ${(tookMs / 1000).toFixed(1)} s`);
      expect([...(await readStatuses()).values()]).to.deep.equal(['failed']);
      // Ten times what is promised.
      expect(tookMs).to.be.below(200_000);
    });

    async function readStatuses(): Promise<ReadonlyMap<string, string>> {
      const rows = await database.run('SELECT request_id, status FROM requests');
      return new Map(
        rows.map((row) => {
          const { request_id: requestId, status } = row as { request_id: string; status: string };
          return [requestId, status];
        }),
      );
    }
  });
}
