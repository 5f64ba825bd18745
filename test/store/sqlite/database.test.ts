import { expect } from 'chai';
import Sqlite from 'better-sqlite3';
import { chmodSync, mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import type { Migration } from '../../../src/store/rows/migrations.ts';
import { MIGRATIONS } from '../../../src/store/sqlite/migrations.ts';
import { StoreOpenError } from '../../../src/core/books/store.ts';
import { newDraft } from '../../support/records.ts';
import { lockDatabase, makeWorkshop, type Workshop } from '../../support/sqlite.ts';
import { allArrived } from '../../support/time.ts';

describe('the database file', () => {
  let shop: Workshop;

  beforeEach(() => {
    shop = makeWorkshop();
  });
  afterEach(() => shop.clear());

  async function makeDatabase(): Promise<void> {
    await (await shop.open()).close();
  }

  it('can be read by its owner only, with everything beside it, whatever the umask is', async () => {
    const umask = process.umask(0);
    try {
      const store = await shop.open();
      await store.accept(newDraft());
      const folder = join(shop.folder, 'data');
      const modes = readdirSync(folder).map((name) => [
        name.replace(/-owner-[0-9a-f]+$/, '-owner'),
        statSync(join(folder, name)).mode & 0o777,
      ]);
      expect(Object.fromEntries(modes)).to.deep.equal({
        'gateway.db': 0o600,
        'gateway.db-owner': 0o600,
        'gateway.db-shm': 0o600,
        'gateway.db-wal': 0o600,
      });
      expect(statSync(folder).mode & 0o777).to.equal(0o700);
    } finally {
      process.umask(umask);
    }
  });

  it('keeps the mode which its operator gave it', async () => {
    await makeDatabase();
    chmodSync(shop.file, 0o640);
    await makeDatabase();
    expect(statSync(shop.file).mode & 0o777).to.equal(0o640);
  });

  const pragmas = [
    { name: 'journal_mode', value: 'wal', why: 'commits by appending to a log' },
    { name: 'synchronous', value: 2, why: 'waits for the disk at every commit (FULL)' },
    { name: 'fullfsync', value: 1, why: 'waits for the drive itself on macOS' },
    { name: 'auto_vacuum', value: 2, why: 'can give pages back in steps' },
    { name: 'journal_size_limit', value: 16 * 1024 * 1024, why: 'keeps a small log after a burst' },
    { name: 'temp_store', value: 2, why: 'makes no temporary files' },
    { name: 'integrity_check', value: 'ok', why: 'is sound' },
  ];
  for (const { name, value, why } of pragmas) {
    it(`${why}, by ${name}`, async () => {
      const store = await shop.open();
      expect(await store.pragma(name)).to.equal(value);
    });
  }

  it('is opened as soon as somebody else gives the lock back', async () => {
    await makeDatabase();
    const unlock = lockDatabase(shop.file);
    const opened = shop.open({ isInline: false });
    await allArrived();
    unlock();
    await (await opened).checkWritable();
  });

  describe('that cannot be used', () => {
    const cases: readonly { what: string; prepare: () => void; says: RegExp }[] = [
      {
        what: 'is no database',
        prepare: () => writeFileSync(shop.file, 'x'.repeat(5000)),
        says: /is corrupt or not a database/,
      },
      { what: 'was cut short', prepare: () => truncateSync(shop.file, 5000), says: /is corrupt or not a database/ },
      {
        what: 'was written by a newer version of this program',
        prepare: () => change("INSERT INTO migrations (name, applied_at_ms) VALUES ('9999_future', 0)"),
        says: /was written by a newer version of this program \(it has "9999_future"\)/,
      },
      {
        what: 'belongs to another program',
        prepare: () => change('PRAGMA application_id = 1; CREATE TABLE other (id)'),
        says: /belongs to another program/,
      },
    ];
    for (const { what, prepare, says } of cases) {
      it(`is refused in one line when it ${what}`, async () => {
        await makeDatabase();
        prepare();
        const error: unknown = await shop.open().catch((error: unknown) => error);
        expect(error).to.be.instanceOf(StoreOpenError);
        expect((error as Error).message)
          .to.match(says)
          .and.to.contain(shop.file)
          .and.not.to.contain('\n');
      });
    }

    it('is refused in one line when its folder cannot be made', async () => {
      writeFileSync(join(shop.folder, 'data'), 'a file in the way');
      const error: unknown = await shop.open().catch((error: unknown) => error);
      expect(error).to.be.instanceOf(StoreOpenError);
      expect((error as Error).message).to.match(/^The database .* cannot be opened: .*\.$/);
    });

    it('is refused in one line when a folder has its name', async () => {
      mkdirSync(shop.file, { recursive: true });
      const error: unknown = await shop.open().catch((error: unknown) => error);
      expect(error).to.be.instanceOf(StoreOpenError);
      expect((error as Error).message).to.contain('cannot be');
    });

    it('is refused when somebody else does not give the lock back', async () => {
      await makeDatabase();
      const unlock = lockDatabase(shop.file);
      try {
        const open = () => openDatabase({ file: shop.file, openWithinMs: 100 });
        expect(open).to.throw(StoreOpenError, 'is locked by another process');
      } finally {
        unlock();
      }
    });

    it('leaves no lock behind when it is refused', async () => {
      mkdirSync(join(shop.folder, 'data'));
      writeFileSync(shop.file, 'x'.repeat(5000));
      await shop.open().catch(() => undefined);
      expect(readdirSync(join(shop.folder, 'data'))).to.deep.equal(['gateway.db']);
    });

    function change(sql: string): void {
      const database = new Sqlite(shop.file);
      database.exec(sql);
      database.close();
    }
  });

  describe('migrations', () => {
    const added: Migration = { name: '9000_added', sql: 'CREATE TABLE added (id INTEGER PRIMARY KEY)' };

    beforeEach(makeDatabase);

    function migrateTo(migrations: readonly Migration[]): readonly string[] {
      const database = openDatabase({ file: shop.file, openWithinMs: 100, migrations });
      try {
        return database.prepare<[], string>('SELECT name FROM migrations ORDER BY name').pluck().all();
      } finally {
        database.close();
      }
    }

    it('are recorded by name', () => {
      expect(migrateTo(MIGRATIONS)).to.deep.equal(MIGRATIONS.map(({ name }) => name));
    });

    it('run on an older database, and once only', () => {
      const names = [...MIGRATIONS, added].map(({ name }) => name);
      expect(migrateTo([...MIGRATIONS, added])).to.deep.equal(names);
      expect(migrateTo([...MIGRATIONS, added])).to.deep.equal(names);
    });

    it('leave the records as they are', async () => {
      const draft = newDraft();
      const before = await shop.open();
      await before.accept(draft);
      await before.close();
      migrateTo([...MIGRATIONS, { name: '9001_column', sql: 'ALTER TABLE requests ADD COLUMN added TEXT' }]);
      const database = new Sqlite(shop.file);
      expect(database.prepare('SELECT request_id, added FROM requests').all()).to.deep.equal([
        { request_id: draft.requestId, added: null },
      ]);
      database.close();
    });

    it('leave nothing of themselves when one fails', () => {
      const broken: Migration = { name: '9001_broken', sql: 'CREATE TABLE half (id); CREATE TABLE half (id)' };
      expect(() => migrateTo([...MIGRATIONS, added, broken])).to.throw('half');
      expect(migrateTo(MIGRATIONS)).to.deep.equal(MIGRATIONS.map(({ name }) => name));
      expect(() => migrateTo([...MIGRATIONS, added])).not.to.throw();
    });
  });
});
