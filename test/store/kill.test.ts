import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import { openStore } from '../../src/store/open.ts';
import { startStoreProcess } from '../support/other-process.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

/** A short form by default; `KILL_ROUNDS=200` for the long one. */
const ROUNDS = Number(process.env['KILL_ROUNDS'] ?? 5);

describe('a process that is killed while it accepts and finishes requests', () => {
  let shop: Workshop;

  beforeEach(() => {
    shop = makeWorkshop();
  });
  afterEach(() => shop.clear());

  it(`loses nothing it acknowledged and leaves nothing unfinished, ${ROUNDS} times`, async function () {
    this.timeout(ROUNDS * 5000);
    const databaseUrl = `file:${shop.file}`;
    for (let round = 0; round < ROUNDS; round += 1) {
      const other = await startStoreProcess({ databaseUrl, churn: 8 });
      await delay(Math.random() * 100);
      await other.kill();
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
