import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { openStore } from '../../../src/store/open.ts';
import { newKeyDraft } from '../../support/keys.ts';
import { killInTheMiddle, startStoreProcess } from '../../support/other-process.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

/** A short form by default; `KILL_ROUNDS=200 mocha --timeout 0` for the long one. */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 5);

describe('a process that is killed while it accepts and finishes requests', () => {
  let shop: Workshop;

  beforeEach(() => {
    shop = makeWorkshop();
  });
  afterEach(() => shop.clear());

  it(`loses nothing it acknowledged and leaves nothing unfinished, ${ROUNDS} times`, async () => {
    const databaseUrl = `file:${shop.file}`;
    for (let round = 0; round < ROUNDS; round += 1) {
      const other = await startStoreProcess({ databaseUrl, churn: 8 });
      await killInTheMiddle(other);
      const store = await openStore({ databaseUrl, recordRetentionDays: 30 });
      await store.close();
      const statuses = readStatuses();
      for (const line of other.lines) {
        const [said, requestId = ''] = line.split(' ');
        if (said === 'accepted') expect(statuses.get(requestId), line).to.be.oneOf(['succeeded', 'failed']);
        if (said === 'finished') expect(statuses.get(requestId), line).to.equal('succeeded');
      }
      expect([...statuses.values()].filter((status) => status === 'processing')).to.deep.equal([]);
    }
  });

  it(`settles each hold once and its ledger adds up, ${ROUNDS} times`, async () => {
    const databaseUrl = `file:${shop.file}`;
    const { keyId } = newKeyDraft();
    const first = await openStore({ databaseUrl, recordRetentionDays: 30 });
    await first.createKey(newKeyDraft({ keyId, creditsMicro: 1e12 }));
    await first.close();
    for (let round = 0; round < ROUNDS; round += 1) {
      const hold = { keyId, heldMicro: 1000, interruptedCostMicro: 7, tokens: 0 };
      const other = await startStoreProcess({ databaseUrl, churn: 8, hold, costMicro: 300 });
      await killInTheMiddle(other);
      const store = await openStore({ databaseUrl, recordRetentionDays: 30 });
      const key = await store.findKey(keyId);
      await store.close();
      const sums = readSums();
      const spent = sums.succeeded * 300 + sums.failed * 7;
      expect(key).to.include({ heldMicro: 0, balanceMicro: 1e12 - spent });
      expect(sums).to.include({ processing: 0, ledger: 1e12 - spent });
    }
  });

  function readSums(): { succeeded: number; failed: number; processing: number; ledger: number } {
    const database = new Sqlite(shop.file);
    const count = database.prepare<[string], number>('SELECT count(*) FROM requests WHERE status = ?').pluck();
    const sum = database.prepare<[], number>('SELECT sum(amount_micro) FROM ledger').pluck();
    const of = (status: string) => count.get(status) ?? 0;
    const sums = {
      succeeded: of('succeeded'),
      failed: of('failed'),
      processing: of('processing'),
      ledger: sum.get() ?? 0,
    };
    database.close();
    return sums;
  }

  function readStatuses(): ReadonlyMap<string, string> {
    const database = new Sqlite(shop.file);
    expect(database.pragma('integrity_check', { simple: true })).to.equal('ok');
    const rows = database.prepare<[], [string, string]>('SELECT request_id, status FROM requests').raw().all();
    // Small for the next round, so that many rounds take no longer each.
    database.exec('DELETE FROM requests');
    database.close();
    return new Map(rows);
  }
});
