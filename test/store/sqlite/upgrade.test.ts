import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { dirname } from 'node:path';
import { checkDatabase } from '../../../src/store/maintenance.ts';
import { createPrivateFile, makePrivateFolder } from '../../../src/store/private-files.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { MIGRATIONS } from '../../../src/store/sqlite/migrations.ts';
import { upgradeDatabase } from '../../../src/store/sqlite/upgrade.ts';
import { describeOldDatabases } from '../old-databases.ts';
import { newGroupDraft, newHold, newKeyDraft } from '../../support/keys.ts';
import { newDraft, newOutcome } from '../../support/records.ts';
import { makeWorkshop, type Workshop } from '../../support/sqlite.ts';

const RELEASES = [
  { name: '0.1', last: '0005_secret_mark' },
  { name: 'a version before groups', last: '0010_upstream' },
  { name: 'a version before alerts', last: '0011_groups' },
];
describeOldDatabases('SQLite', RELEASES, () => {
  const shop = makeWorkshop();
  const { file } = shop;
  makePrivateFolder(dirname(file));
  createPrivateFile(file);
  const inDatabase = <Result>(work: (database: Sqlite.Database) => Result): Promise<Result> => {
    const database = new Sqlite(file);
    try {
      return Promise.resolve(work(database));
    } finally {
      database.close();
    }
  };
  return Promise.resolve({
    place: { kind: 'file', path: file },
    migrateTo(last) {
      const migrations = MIGRATIONS.slice(0, MIGRATIONS.findIndex(({ name }) => name === last) + 1);
      openDatabase({ file, openWithinMs: 1000, migrations }).close();
      return Promise.resolve();
    },
    run: (sql) =>
      inDatabase((database) => {
        const statement = database.prepare(sql);
        return statement.reader ? statement.all() : [statement.run()];
      }),
    open: () => shop.open(),
    drop: () => shop.clear(),
  });
});

describe('an upgrade of the database', () => {
  const names = MIGRATIONS.map(({ name }) => name);
  let shop: Workshop;

  beforeEach(() => {
    shop = makeWorkshop();
  });
  afterEach(() => shop.clear());

  it('makes the database where there is none, and has nothing to do the second time', async () => {
    expect(await upgradeDatabase(shop.file)).to.deep.equal({ migrations: names, applied: names });
    expect(await upgradeDatabase(shop.file)).to.deep.equal({ migrations: names, applied: [] });
  });

  it('reads no cache writes where a version before them has written', async () => {
    makePrivateFolder(dirname(shop.file));
    createPrivateFile(shop.file);
    const before = MIGRATIONS.slice(0, names.indexOf('0009_cache_writes'));
    const old = openDatabase({ file: shop.file, openWithinMs: 1000, migrations: before });
    const draft = newDraft();
    old
      .prepare(
        `INSERT INTO requests (request_id, caller, endpoint, model, stream, status, created_at_ms, completed_at_ms,
           estimated_input_tokens, input_tokens, cached_tokens, output_tokens, reasoning_tokens, total_tokens)
         VALUES (?, ?, 'responses', 'm', 0, 'succeeded', 5, 6, 7, 8, 3, 2, 1, 10)`,
      )
      .run(draft.requestId, draft.caller[0]);
    old
      .prepare(
        `INSERT INTO usage (hour, caller, model, requests, failed, cancelled, input_tokens, cached_tokens, output_tokens,
           reasoning_tokens, cost_micro, duration_ms) VALUES (0, ?, 'm', 1, 0, 0, 8, 3, 2, 1, 0, 1)`,
      )
      .run(draft.caller[0]);
    old.close();
    const store = await shop.open();
    const record = await store.find(draft.caller, draft.requestId);
    expect(record?.usage?.input_tokens_details).to.deep.equal({ cached_tokens: 3, cache_write_tokens: 0 });
    const rows = await store.listUsage({ fromMs: 0, untilMs: 1, per: 'hour' });
    expect(rows).to.have.length(1);
    expect(rows[0]).to.include({ cachedTokens: 3, cacheWriteTokens: 0 });
  });

  it('puts keys from before groups into none, and lets them keep a name that two of them have', async () => {
    makePrivateFolder(dirname(shop.file));
    createPrivateFile(shop.file);
    const before = MIGRATIONS.slice(0, names.indexOf('0011_groups'));
    const old = openDatabase({ file: shop.file, openWithinMs: 1000, migrations: before });
    const [one, other] = [newKeyDraft(), newKeyDraft()];
    for (const { keyId } of [one, other]) {
      old
        .prepare(
          `INSERT INTO keys (key_id, hash, prefix, name, created_at_ms, balance_micro) VALUES (?, ?, 'p', 'bob', 5, 100)`,
        )
        .run(keyId, keyId);
      old
        .prepare(
          `INSERT INTO ledger (key, kind, amount_micro, note, created_at_ms)
           SELECT seq, 'grant', 100, '', 5 FROM keys WHERE key_id = ?`,
        )
        .run(keyId);
    }
    old.close();
    const store = await shop.open();
    expect(await store.findKey(one.keyId)).to.include({ name: 'bob', group: null });
    expect((await store.listKeys({ limit: 5, name: 'bob' }))?.keys).to.have.length(2);
    const { groupId } = await store.createGroup(newGroupDraft({ creditsMicro: 50 }));
    await store.updateKey(one.keyId, { groupId });
    const draft = newDraft({ hold: newHold(one.keyId, 30) });
    expect(await store.accept(draft)).to.include({ kind: 'accepted' });
    await store.finish(draft.requestId, newOutcome({ costMicro: 10 }));
    expect(await store.findKey(one.keyId)).to.include({ balanceMicro: 90 });
    expect(await store.findGroup(groupId)).to.include({ balanceMicro: 40 });
    expect(await checkDatabase({ kind: 'file', path: shop.file })).to.deep.include({ keys: 2, problems: [] });
  });

  it('counts credits from before alerts from now on, and knows none of a key that an older program makes beside it', async () => {
    makePrivateFolder(dirname(shop.file));
    createPrivateFile(shop.file);
    const before = MIGRATIONS.slice(0, names.indexOf('0012_alerts'));
    const old = openDatabase({ file: shop.file, openWithinMs: 1000, migrations: before });
    const [known, added] = [newKeyDraft(), newKeyDraft()];
    const insert = `
      INSERT INTO keys (key_id, hash, prefix, name, created_at_ms, balance_micro, held_micro)
      VALUES (?, ?, 'p', ?, 5, 60, 40)`;
    old.prepare(insert).run(known.keyId, known.keyId, known.name);
    old.close();
    const store = await shop.open();
    const beside = openDatabase({ file: shop.file, openWithinMs: 1000, migrations: MIGRATIONS });
    beside.prepare(insert).run(added.keyId, added.keyId, added.name);
    beside.close();
    const listed = await store.listSpending({ of: 'keys', percent: 0, limit: 5 });
    expect(listed.map(({ id, fundedMicro, leftMicro }) => ({ id, fundedMicro, leftMicro }))).to.deep.equal([
      { id: known.keyId, fundedMicro: 100, leftMicro: 100 },
    ]);
    await store.credit(added.keyId, { kind: 'grant', amountMicro: 100, note: '', createdAtMs: 6 });
    const [spending] = await store.listSpending({ of: 'keys', percent: 0, limit: 5 });
    expect(spending).to.include({ id: added.keyId, fundedMicro: 200, fundedAtMs: 6 });
  });

  it('may run beside a store', async () => {
    await shop.open();
    expect(await upgradeDatabase(shop.file)).to.deep.equal({ migrations: names, applied: [] });
  });
});
