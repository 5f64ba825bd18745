import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { backupDatabase } from '../../../src/store/sqlite/backup.ts';
import { StoreOpenError } from '../../../src/core/books/store.ts';
import { CALLER, newDraft, newOutcome } from '../../support/records.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

describe('a backup', () => {
  let shop: Workshop;
  let destination: string;

  beforeEach(() => {
    shop = makeWorkshop();
    destination = join(shop.folder, 'backups', 'copy.db');
  });
  afterEach(() => shop.clear());

  it('is a database of its own, which a store opens with all records', async () => {
    const store = await shop.open();
    const draft = newDraft();
    await store.accept(draft);
    await backupDatabase(shop.file, destination, () => undefined);
    await store.finish(draft.requestId, newOutcome());
    const copy = await shop.open({ file: destination });
    expect(await copy.find(CALLER, draft.requestId)).to.include({ status: 'processing' });
  });

  it('is one file that only its owner can read', async () => {
    await shop.open();
    await backupDatabase(shop.file, destination, () => undefined);
    expect(readdirSync(join(shop.folder, 'backups'))).to.deep.equal(['copy.db']);
    expect(statSync(destination).mode & 0o777).to.equal(0o600);
  });

  it('comes to an end beside a process that never stops writing, and is of the moment of its begin', async () => {
    const store = await shop.open();
    const drafts = Array.from({ length: 8000 }, () => newDraft({ model: 'm'.repeat(256) }));
    await Promise.all(drafts.map((draft) => store.accept(draft)));
    let writes: Promise<unknown>[] = [];
    const parts: number[] = [];
    await backupDatabase(shop.file, destination, (part) => {
      parts.push(part);
      writes = [...writes, store.accept(newDraft({ model: 'late' }))];
    });
    await Promise.all(writes);
    const copy = await shop.open({ file: destination });
    expect(await copy.listAll({ limit: 1, model: 'late' }))
      .to.have.property('records')
      .that.has.lengthOf(0);
    expect(parts.length).to.be.greaterThan(1);
    expect(parts).to.deep.equal(parts.toSorted((one, other) => one - other));
    expect(parts.at(-1)).to.be.within(0.5, 1);
  });

  it('leaves nothing of a copy that does not come to its end', async () => {
    await shop.open();
    const making = backupDatabase(shop.file, destination, () => {
      expect(existsSync(destination)).to.equal(false);
      throw new RangeError('no progress');
    });
    expect(await reasonOf(making)).to.equal('RangeError: no progress');
    expect(readdirSync(join(shop.folder, 'backups'))).to.deep.equal([]);
  });

  it('is refused where the database is damaged, since the copy would be as well', async () => {
    const store = await shop.open();
    await store.accept(newDraft());
    await store.close();
    shop.tamper(`UPDATE sqlite_schema SET sql = 'CREATE INDEX requests_of_caller ON requests (model, request_id)'
                 WHERE name = 'requests_of_caller'`);
    expect(await reasonOf(backupDatabase(shop.file, destination, () => undefined))).to.match(/^The copy is not sound/);
    expect(readdirSync(join(shop.folder, 'backups'))).to.deep.equal([]);
  });

  it('never writes over a file', async () => {
    await shop.open();
    writeFileSync(join(shop.folder, 'taken'), 'mine');
    const making = backupDatabase(shop.file, join(shop.folder, 'taken'), () => undefined);
    expect(await reasonOf(making)).to.match(/^The file .*taken exists already\.$/);
    expect(statSync(join(shop.folder, 'taken')).size).to.equal(4);
  });

  it('is refused for a file that is not there, is no database, or is that of another program', async () => {
    expect(await reasonOf(backupDatabase(shop.file, destination, () => undefined))).to.match(/^There is no database /);
    const text = join(shop.folder, 'text');
    writeFileSync(text, 'x'.repeat(5000));
    expect(await reasonOf(backupDatabase(text, destination, () => undefined))).to.match(
      /^The database .*text cannot be read: /,
    );
    const foreign = join(shop.folder, 'foreign.db');
    new Sqlite(foreign).exec('CREATE TABLE theirs (id)').close();
    expect(await reasonOf(backupDatabase(foreign, destination, () => undefined))).to.match(
      /belongs to another program/,
    );
    expect(existsSync(destination)).to.equal(false);
  });
});

async function reasonOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'nothing';
  } catch (error) {
    return error instanceof StoreOpenError ? error.message : String(error);
  }
}
