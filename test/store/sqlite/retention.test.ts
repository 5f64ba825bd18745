import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { statSync } from 'node:fs';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { newKeyDraft } from '../../support/keys.ts';
import { newDraft, newOutcome } from '../../support/records.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

describe('pruning in SQLite', () => {
  let shop: Workshop;
  let store: SqliteStore;

  beforeEach(async () => {
    shop = makeWorkshop();
    store = await shop.open();
  });
  afterEach(() => shop.clear());

  it('lets requests through between its steps', async () => {
    const drafts = Array.from({ length: 1000 }, () => newDraft());
    await Promise.all(drafts.map((draft) => store.accept(draft)));
    await Promise.all(drafts.map(({ requestId }) => store.finish(requestId, newOutcome({ completedAtMs: 1 }))));
    const ends: string[] = [];
    const pruned = store.prune(2).then((count) => ends.push(`pruned ${count}`));
    await store.accept(newDraft()).then(() => ends.push('accepted'));
    await pruned;
    expect(ends).to.deep.equal(['accepted', 'pruned 1000']);
  });

  it('takes away the ledger of a key that was deleted, young entries too', async () => {
    const { keyId } = await store.createKey(newKeyDraft({ creditsMicro: 1, createdAtMs: 10 }));
    for (let entries = 0; entries < 250; entries += 1) {
      void store.credit(keyId, { kind: 'grant', amountMicro: 1, note: '', createdAtMs: 10 });
    }
    await store.deleteKey(keyId);
    await store.prune(1);
    const database = new Sqlite(shop.file);
    expect(database.prepare('SELECT * FROM ledger').all()).to.deep.equal([]);
    database.close();
  });

  const files = [
    { what: 'gives back what is free when that is most of the file', freeBytes: 16e6, leavesFrom: 0, leavesTo: 9e6 },
    { what: 'leaves a little free space for new records', freeBytes: 4e6, leavesFrom: 4e6, leavesTo: 5e6 },
  ];
  for (const { what, freeBytes, leavesFrom, leavesTo } of files) {
    it(`${what} (${freeBytes / 1e6} MB)`, async () => {
      makeFree(freeBytes);
      expect(sizeOfFile()).to.be.above(freeBytes);
      await store.prune(0);
      await store.pragma('wal_checkpoint(TRUNCATE)');
      expect(sizeOfFile()).to.be.within(leavesFrom, leavesTo);
      expect(await store.pragma('integrity_check')).to.equal('ok');
    });
  }

  function makeFree(bytes: number): void {
    const database = new Sqlite(shop.file);
    database.exec(
      `CREATE TABLE ballast (bytes BLOB); INSERT INTO ballast VALUES (zeroblob(${bytes})); DROP TABLE ballast`,
    );
    database.pragma('wal_checkpoint(TRUNCATE)');
    database.close();
  }

  function sizeOfFile(): number {
    return statSync(shop.file).size;
  }
});
