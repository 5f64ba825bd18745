import { expect } from 'chai';
import type { SharedDatabase } from '../../src/store/database-url.ts';
import { upgradeDatabase } from '../../src/store/maintenance.ts';
import { openStore } from '../../src/store/open.ts';
import { changeMark, readMarking } from '../../src/store/secret-mark.ts';
import { backupDatabase } from '../../src/store/sqlite/backup.ts';
import type { Store } from '../../src/store/store.ts';
import { newKeyDraft } from '../support/keys.ts';
import { createTestDatabase, findPostgres } from '../support/postgres.ts';
import { newDraft } from '../support/records.ts';
import { makeWorkshop } from '../support/sqlite.ts';

interface TestPlace {
  readonly database: SharedDatabase;
  readonly url: string;
  readonly clear: () => Promise<void>;
}

const server = await findPostgres();

describeMark('SQLite', async () => {
  const shop = makeWorkshop();
  return { database: { kind: 'file', path: shop.file }, url: `file:${shop.file}`, clear: () => shop.clear() };
});

if (server !== undefined) {
  describeMark('PostgreSQL', async () => {
    const made = await createTestDatabase(server);
    const { url } = made;
    return { database: { kind: 'postgres', url }, url, clear: () => made.drop() };
  });
}

function describeMark(engine: string, makePlace: () => Promise<TestPlace>): void {
  describe(`the mark of the secret, on ${engine}`, () => {
    let place: TestPlace;
    let stores: Store[];

    beforeEach(async () => {
      place = await makePlace();
      stores = [];
    });
    afterEach(async () => {
      for (const store of stores) await store.close();
      await place.clear();
    });

    async function open(): Promise<Store> {
      const store = await openStore({ databaseUrl: place.url, recordRetentionDays: 30 });
      stores.push(store);
      return store;
    }

    it('is missing where nobody has begun, and such a database is empty', async () => {
      const nothing = { mark: undefined, isEmpty: true };
      expect(await readMarking(place.database)).to.deep.equal(nothing);
      const store = await open();
      expect(await readMarking(place.database)).to.deep.equal(nothing);
      expect(await store.checkWritable()).to.equal(undefined);
    });

    for (const { what, add } of [
      { what: 'a key', add: (store: Store) => store.createKey(newKeyDraft()) },
      { what: 'a record', add: (store: Store) => store.accept(newDraft()) },
    ]) {
      it(`says of a database with ${what} that it is not empty`, async () => {
        await add(await open());
        expect(await readMarking(place.database)).to.deep.equal({ mark: undefined, isEmpty: false });
      });
    }

    it('is given once, and changed only by who knows the present one', async () => {
      await upgradeDatabase(place.database);
      expect(await changeMark(place.database, { from: undefined, to: 'one' })).to.equal('one');
      expect(await changeMark(place.database, { from: undefined, to: 'two' })).to.equal('one');
      expect(await changeMark(place.database, { from: 'another', to: 'two' })).to.equal('one');
      expect(await changeMark(place.database, { from: 'one', to: 'two' })).to.equal('two');
      expect(await readMarking(place.database)).to.deep.equal({ mark: 'two', isEmpty: true });
    });

    it('is the same for all who begin at the same moment', async () => {
      await upgradeDatabase(place.database);
      const marks = ['one', 'two', 'three', 'four'];
      const told = await Promise.all(marks.map((to) => changeMark(place.database, { from: undefined, to })));
      expect(new Set(told)).to.have.property('size', 1);
      expect(marks).to.include(told[0]);
    });

    it('is told with every check that the store can be written', async () => {
      const store = await open();
      await changeMark(place.database, { from: undefined, to: 'one' });
      expect(await store.checkWritable()).to.equal('one');
    });
  });
}

describe('a backup of a marked database', () => {
  it('has the mark', async () => {
    const shop = makeWorkshop();
    try {
      const [database, path] = [{ kind: 'file', path: shop.file } as const, `${shop.folder}/copy.db`];
      await upgradeDatabase(database);
      await changeMark(database, { from: undefined, to: 'one' });
      await backupDatabase(shop.file, path, () => undefined);
      expect(await readMarking({ kind: 'file', path })).to.include({ mark: 'one' });
    } finally {
      await shop.clear();
    }
  });
});
