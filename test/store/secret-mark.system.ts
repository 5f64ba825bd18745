import { expect } from 'chai';
import type { SharedDatabase } from '../../src/store/database-url.ts';
import { upgradeDatabase } from '../../src/store/maintenance.ts';
import { openStore } from '../../src/store/open.ts';
import { changeMark, readMarking } from '../../src/store/secret-mark.ts';
import { backupDatabase } from '../../src/store/sqlite/backup.ts';
import type { Store } from '../../src/core/books/store.ts';
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
      const nothing = { mark: undefined, isEmpty: true, keysOfPrevious: [] };
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
        expect(await readMarking(place.database)).to.deep.equal({
          mark: undefined,
          isEmpty: false,
          keysOfPrevious: [],
        });
      });
    }

    it('is given once, and changed only by who knows the present one', async () => {
      await upgradeDatabase(place.database);
      expect(await changeMark(place.database, { from: undefined, to: 'one' })).to.equal('one');
      expect(await changeMark(place.database, { from: undefined, to: 'two' })).to.equal('one');
      expect(await changeMark(place.database, { from: 'another', to: 'two' })).to.equal('one');
      expect(await changeMark(place.database, { from: 'one', to: 'two' })).to.equal('two');
      expect(await readMarking(place.database)).to.deep.equal({ mark: 'two', isEmpty: true, keysOfPrevious: [] });
    });

    it('tells which keys are known by another secret alone, until they are used or given up', async () => {
      const store = await open();
      await store.createKey(newKeyDraft({ name: 'before all' }));
      await changeMark(place.database, { from: undefined, to: 'one' });
      const [used, unused, rotated] = ['used', 'unused', 'rotated'].map((name) =>
        newKeyDraft({ name, secret: { hash: [`${name}, one`], mark: 'one', prefix: name } }),
      );
      for (const draft of [used, unused, rotated]) if (draft !== undefined) await store.createKey(draft);
      expect((await readMarking(place.database)).keysOfPrevious).to.deep.equal([]);
      await changeMark(place.database, { from: 'one', to: 'two' });
      await store.createKey(newKeyDraft({ name: 'after', secret: { hash: ['after'], mark: 'two', prefix: 'a' } }));
      expect(await namesOfPrevious(store)).to.deep.equal(['rotated', 'unused', 'used', 'before all']);
      await store.findKeyByHash(['used, two', 'used, one'], 'two');
      if (rotated !== undefined)
        await store.rotateKey(rotated.keyId, { hash: ['rotated, two'], mark: 'two', prefix: 'r' }, 0);
      expect(await namesOfPrevious(store)).to.deep.equal(['unused', 'before all']);
      await changeMark(place.database, { from: 'two', to: 'two', givesUp: true });
      expect(await namesOfPrevious(store)).to.deep.equal([]);
    });

    it('tells so while gateways with either secret run beside each other', async () => {
      const store = await open();
      await changeMark(place.database, { from: undefined, to: 'one' });
      // The command line has the new secret before a gateway starts with it.
      await store.createKey(newKeyDraft({ name: 'k', secret: { hash: ['k, two'], mark: 'two', prefix: 'k' } }));
      await changeMark(place.database, { from: 'one', to: 'two' });
      expect(await namesOfPrevious(store)).to.deep.equal([]);
      await store.findKeyByHash(['k, one', 'k, two'], 'one');
      expect(await namesOfPrevious(store)).to.deep.equal(['k']);
      await store.findKeyByHash(['k, two', 'k, one'], 'two');
      expect(await namesOfPrevious(store)).to.deep.equal([]);
    });

    /** By the list of keys, which says the same as the mark. */
    async function namesOfPrevious(store: Store): Promise<readonly string[]> {
      // What a lookup has found out is written beside it.
      await store.createKey(newKeyDraft());
      const page = await store.listKeys({ limit: 100, isOfPreviousSecret: true });
      const names = (page?.keys ?? []).map(({ name }) => name);
      expect((await readMarking(place.database)).keysOfPrevious).to.deep.equal(names);
      const all = (await store.listKeys({ limit: 100 }))?.keys ?? [];
      expect(all.filter(({ isOfPreviousSecret }) => isOfPreviousSecret).map(({ name }) => name)).to.deep.equal(names);
      return names;
    }

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
