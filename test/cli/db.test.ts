import { expect } from 'chai';
import { truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createPrivateFile, makePrivateFolder } from '../../src/store/private-files.ts';
import { openDatabase } from '../../src/store/sqlite/database.ts';
import { MIGRATIONS } from '../../src/store/sqlite/migrations.ts';
import { run } from '../support/cli.ts';
import { CALLER, newDraft } from '../support/records.ts';
import { makeWorkshop, type Workshop } from '../support/sqlite.ts';

/** The last migration of version 0.1. */
const OF_0_1 = '0005_secret_mark';

describe('db', () => {
  let shop: Workshop;
  let env: Readonly<Record<string, string>>;

  beforeEach(() => {
    shop = makeWorkshop();
    env = { DATABASE_URL: `file:${shop.file}` };
  });
  afterEach(() => shop.clear());

  it('migrate makes the database, and says the second time that it is up to date', async () => {
    const first = await run('db migrate', { env });
    expect(first.stdout).to.match(/gateway\.db: ran 0001_requests, .*\. It is up to date\.\n$/);
    const second = await run('db migrate', { env });
    expect(second.stdout).to.match(/gateway\.db is up to date \(\d{4}_\w+\)\.\n$/);
    expect([first.status, second.status]).to.deep.equal([0, 0]);
    expect(JSON.parse((await run('db migrate --json', { env })).stdout)).to.deep.include({ applied: [] });
  });

  it('check finds a new database sound, also beside a store that is open', async () => {
    const store = await shop.open();
    await store.accept(newDraft());
    const { status, stdout } = await run('db check', { env });
    expect(stdout).to.match(/1 record, 0 keys\nThe database is intact, and every ledger adds up\.\n$/);
    expect(status).to.equal(0);
    expect(JSON.parse((await run('db check --json', { env })).stdout)).to.deep.include({ ok: true, problems: [] });
  });

  it('check ends with 1 and names what is wrong in a damaged database', async () => {
    const store = await shop.open();
    await store.accept(newDraft());
    await store.close();
    // What the index holds are callers, which are then looked for where models belong.
    shop.tamper(`UPDATE sqlite_schema SET sql = 'CREATE INDEX requests_of_caller ON requests (model, request_id)'
            WHERE name = 'requests_of_caller'`);
    const { status, stdout, stderr } = await run('db check', { env });
    expect(stdout).to.match(/row 1 missing from index requests_of_caller/);
    expect(stdout).not.to.contain('The database is sound');
    expect(stderr).to.equal('The database is damaged; restore a backup.\n');
    expect(status).to.equal(1);
  });

  it('check ends with 1 and a sentence for what is no whole database', async () => {
    await run('db migrate', { env });
    truncateSync(shop.file, 5000);
    const { status, stderr } = await run('db check', { env });
    expect(stderr).to.match(/^[^\n]+\n$/);
    expect(status).to.equal(1);
  });

  it('check asks for an upgrade of an older database', async () => {
    await run('db migrate', { env });
    shop.tamper(`DELETE FROM migrations WHERE name > '0001_requests'`);
    const { status, stderr } = await run('db check', { env });
    expect(stderr).to.match(/ is of an older version; db migrate brings it up to this one\.\n$/);
    expect(status).to.equal(1);
  });

  it('backup makes a copy that a store opens, and names it', async () => {
    const store = await shop.open();
    const draft = newDraft();
    await store.accept(draft);
    const path = join(shop.folder, 'copies', 'today.db');
    const { status, stdout, stderr } = await run(['db', 'backup', path], { env });
    expect(stdout).to.equal(`${path} is a verified copy of ${shop.file}.\n`);
    expect(stderr).to.match(/^Keep the secret with it/);
    expect(status).to.equal(0);
    const copy = await shop.open({ file: path });
    expect(await copy.find(CALLER, draft.requestId)).to.have.property('requestId', draft.requestId);
  });

  it('backup before an upgrade keeps the database as it was, which can be upgraded again', async () => {
    makePrivateFolder(dirname(shop.file));
    createPrivateFile(shop.file);
    const place = MIGRATIONS.findIndex(({ name }) => name === OF_0_1) + 1;
    openDatabase({ file: shop.file, openWithinMs: 1000, migrations: MIGRATIONS.slice(0, place) }).close();
    const path = join(shop.folder, 'before.db');
    expect(await run(['db', 'backup', path], { env })).to.include({ status: 0 });
    expect((await run('db migrate', { env })).stdout).to.contain(': ran 0006_');
    const ofBackup = { DATABASE_URL: `file:${path}` };
    expect((await run('db check', { env: ofBackup })).stderr).to.match(
      / is of an older version; db migrate brings it /,
    );
    expect(await run('db migrate', { env: ofBackup })).to.include({ status: 0 });
    expect(await run('db check', { env: ofBackup })).to.include({ status: 0 });
  });

  for (const { line, says } of [
    { line: 'db migrate', says: 'bringing ' },
    { line: 'db check', says: 'checking ' },
  ]) {
    it(`shows on a terminal what takes long, and clears it: ${line}`, async () => {
      await run('db migrate', { env });
      const { stderr } = await run(line, { env, isTTY: true });
      expect(stderr).to.include(` ${says}`);
      expect(stderr.endsWith('\r\u{1b}[K')).to.equal(true);
      expect((await run(line, { env })).stderr).to.equal('');
    });
  }

  it('backup shows its progress on a terminal, on standard error', async () => {
    await run('db migrate', { env });
    const path = join(shop.folder, 'copy.db');
    const { stdout, stderr } = await run(['db', 'backup', path, '--json'], { env, isTTY: true });
    expect(stderr).to.match(/copying .*: \d+ %.*checking the copy/s);
    expect(JSON.parse(stdout)).to.deep.equal({ object: 'database_backup', file: shop.file, backup: path });
  });

  for (const line of ['db check', 'db migrate', 'db backup copy.db']) {
    it(`has nothing to do with a database in memory (${line})`, async () => {
      const { status, stderr } = await run(line, { env: { DATABASE_URL: ':memory:' } });
      expect(stderr).to.match(/^DATABASE_URL is :memory:/);
      expect(status).to.equal(1);
    });
  }
});
